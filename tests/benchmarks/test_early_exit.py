"""Exports that answer early, in turns with those at full depth."""

import contextlib
import json

import pytest

import albert_tf
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer
from benchmarks import early_exit


@contextlib.contextmanager
def _side(version, requests):
    """Stands for an export's process: early answers take half of the time."""
    with open(requests, encoding="utf-8") as file:
        assert len(json.load(file)["latency"]["texts"]) == 4
    seconds = 2.0 if version.parent.name.endswith("full depth") else 1.0

    class Player:
        def turn(self, request):
            return [seconds]

    yield Player()


@pytest.mark.nightly
def test_rates_and_scores(vocabulary, tiny_config, tmp_path, monkeypatch, capsys):
    words = ["a", "good", "bad", "film", "very", "is", "the", "it"]
    (tmp_path / "vocab.txt").write_text(vocabulary(words))
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    model = albert_tf.AlbertForSequenceClassification(
        tiny_config(vocab_size=tokenizer.vocab_size),
        labels=["0", "1"],
        exit_heads="shared",
        exit_rule={"name": "patience", "threshold": 1},
    )
    task = create_task("single_label", "t", labels=("0", "1"))
    info = {"task": task.to_dict(), "max_seq_length": 16}
    model.save_pretrained(tmp_path / "model", tokenizer, info)
    texts = [f"the film is very {words[1 + i % 2]} it is good" for i in range(8)]
    rows = [f"{text}\t{i % 2}" for i, text in enumerate(texts)]
    (tmp_path / "dev.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    forms = {"onnx int8": early_exit._FORMS["onnx int8"]}
    monkeypatch.setattr(early_exit, "_FORMS", forms)
    monkeypatch.setattr(early_exit, "own_side", _side)
    early_exit.benchmark(
        early_exit.Options(
            model_dir=str(tmp_path / "model"),
            data_file=str(tmp_path / "dev.tsv"),
            batch_size=4,
            batches=2,
            figures_file=str(tmp_path / "figures.json"),
        )
    )
    assert "| onnx int8, full depth |" in capsys.readouterr().out
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert [row[0] for row in rows] == ["onnx int8, full depth", "onnx int8, early"]
    assert all(0 <= row[1] <= 1 for row in rows)
    assert rows[1][3]["ratio"] == 2.0
