"""Applying models, in turns with Hugging Face's."""

import json
import sys

import pytest

from albert_tf.errors import UserError
from benchmarks import inference_rates
from benchmarks.measuring import turns
from tests.players import PlayerHere


@pytest.fixture
def options(material, tiny_config, tmp_path):
    """Options for a table of short sentences."""
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "ran"]
    lines = [" ".join(words[: 2 + i % 6]) for i in range(16)]
    (tmp_path / "dev.tsv").write_text("\n".join(["sentence", *lines]) + "\n")
    tiny_config(max_position_embeddings=128).to_json_file(tmp_path / "config.json")

    def make(**changes):
        return inference_rates.Options(
            data_file=str(tmp_path / "dev.tsv"),
            spm_model_file=str(material / "vocab.model"),
            albert_config_file=str(tmp_path / "config.json"),
            **{"rows": 8, "batch_size": 4, "rounds": 2, **changes},
        )

    return make


@pytest.mark.nightly
def test_each_task_is_computed(options, monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "Player", PlayerHere)
    path = tmp_path / "figures.json"
    inference_rates.benchmark(options(figures_file=str(path)))
    tasks = ("multiple_choice", "masked_words", "vectors")
    found = json.loads(path.read_text())
    assert found["columns"] == ["rows/s", "this project"]
    assert [row[0] for row in found["rows"]] == [t.replace("_", " ") for t in tasks]
    with pytest.raises(UserError, match="has 16 sentences, but --rows=400 needs 800"):
        inference_rates.benchmark(options(rows=400))


@pytest.mark.nightly
def test_a_peer_computes_the_same(options, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    inference_rates.benchmark(options(peer_python=sys.executable))
    printed = capsys.readouterr().out
    for order in ("by length", "file order"):
        assert f"Hugging Face, {order}" in printed
