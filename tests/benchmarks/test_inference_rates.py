"""Applying models, in turns with Hugging Face's."""

import json
import sys

import pytest

from albert_tf.errors import UserError
from benchmarks import inference_rates
from benchmarks.measuring import turns
from benchmarks.sides import inference


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


class _InThisProcess:
    """A `Player` that answers without a process: of three turns, the last is fast."""

    details = "tensorflow x"

    def __init__(self, command):
        *_, name, setting = command
        assert name == "inference"
        setting = json.loads(setting)
        self._turns = 0
        self._runs = {
            task: inference.run(inference.compute(task, setting), path, setting)
            for task, path in setting["rows"].items()
        }

    def turn(self, task):
        outputs = self._runs[task]()
        shapes = {
            "multiple_choice": lambda: outputs.shape == (2, 4),
            "masked_words": lambda: outputs[1].shape == (8, 1, 5),
            "vectors": lambda: outputs.shape == (8, 12),
        }
        assert shapes[task]()
        self._turns += 1
        return 4.0 if self._turns % 3 else 2.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.nightly
def test_each_task_is_computed(options, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(turns, "Player", _InThisProcess)
    path = tmp_path / "figures.json"
    inference_rates.benchmark(options(figures_file=str(path)))
    assert capsys.readouterr().out.count("| 2.67 |") == 3
    tasks = ("multiple_choice", "masked_words", "vectors")
    found = json.loads(path.read_text())
    assert found["columns"] == ["rows/s", "this project"]
    assert found["conditions"] == ["tensorflow x", "medians of 2 turns"]
    assert [row[0] for row in found["rows"]] == [t.replace("_", " ") for t in tasks]
    with pytest.raises(UserError, match="has 16 sentences, but --rows=400 needs 800"):
        inference_rates.benchmark(options(rows=400))


def test_a_peer_computes_the_same(options, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    inference_rates.benchmark(options(peer_python=sys.executable))
    printed = capsys.readouterr().out
    for order in ("by length", "file order"):
        assert f"Hugging Face, {order}" in printed
