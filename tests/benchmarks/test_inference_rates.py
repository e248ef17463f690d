"""Applying models: every task is computed."""

import json

import pytest

from benchmarks import inference_rates
from benchmarks.measuring import turns
from tests.players import PlayerHere


@pytest.mark.nightly
def test_each_task_is_computed(material, tiny_config, monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "Player", PlayerHere)
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "ran"]
    lines = [" ".join(words[: 2 + i % 6]) for i in range(16)]
    (tmp_path / "dev.tsv").write_text("\n".join(["sentence", *lines]) + "\n")
    tiny_config(max_position_embeddings=128).to_json_file(tmp_path / "config.json")
    path = tmp_path / "figures.json"
    options = inference_rates.Options(
        data_file=str(tmp_path / "dev.tsv"),
        spm_model_file=str(material / "vocab.model"),
        albert_config_file=str(tmp_path / "config.json"),
        figures_file=str(path),
        rows=8,
        batch_size=4,
        rounds=2,
    )
    inference_rates.benchmark(options)
    tasks = ("multiple_choice", "masked_words", "vectors")
    found = json.loads(path.read_text())
    assert found["columns"] == ["rows/s", "this project"]
    assert [row[0] for row in found["rows"]] == [t.replace("_", " ") for t in tasks]
