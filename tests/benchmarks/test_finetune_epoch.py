"""Epochs on tagged words; tests/tasks has those on tables and windows."""

import json

import pytest

from benchmarks import finetune_epoch
from benchmarks.measuring import turns
from tests.players import PlayerHere


@pytest.mark.nightly
def test_tagged_words_are_trained(material, tiny_config, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "Player", PlayerHere)
    path, figures = tmp_path / "train.conll", tmp_path / "figures.json"
    path.write_text("the O\ncat B-ANIMAL\nsat O\n\n" * 8)
    config = tmp_path / "config.json"
    sizes = {"vocab_size": 36, "max_position_embeddings": 96, "num_hidden_layers": 1}
    tiny_config(**sizes).to_json_file(config)
    options = finetune_epoch.Options(
        tagging_file=str(path),
        figures_file=str(figures),
        spm_model_file=str(material / "vocab.model"),
        albert_config_file=str(config),
        mixed_precision="bfloat16",
        max_seq_length=80,
        train_batch_size=2,
        fixed_rows=2,
        rows=4,
        epochs=2,
    )
    finetune_epoch.benchmark(options)
    assert "| this project, float32 | " in capsys.readouterr().out
    rows = json.loads(figures.read_text())["rows"]
    names = [f"this project{way}" for way in ("", ", fixed length", ", float32")]
    assert [row[0] for row in rows] == [*names[:2], "products alone", names[2]]
    assert all("share" in rows[i][1] for i in (0, 1, 3))
    assert [cell["ratio"] for cell in rows[0][1:]] == [1, 1]
