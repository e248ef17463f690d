"""Epochs on windows of questions."""

import json
import sys

import pytest

from albert_tf.errors import UserError
from benchmarks import finetune_epoch
from benchmarks.measuring import turns
from tests.players import PlayerHere


@pytest.fixture
def options(material, squad, tiny_config, tmp_path):
    """Options for four of some windows."""
    text = "the cat sat on a mat. " * 20
    asked = [("1", "who sat?", [("cat", 4)]), ("2", "on what?", [("mat", 17)])]
    path = squad((text, asked))
    config = tmp_path / "config.json"
    sizes = {"vocab_size": 36, "max_position_embeddings": 96, "num_hidden_layers": 1}
    tiny_config(**sizes).to_json_file(config)

    def make(**changes):
        values = {"rows": 4, "fixed_rows": 2, "train_batch_size": 2, **changes}
        return finetune_epoch.Options(
            spm_model_file=str(material / "vocab.model"),
            **{"squad_file": str(path), **values},
            albert_config_file=str(config),
            max_seq_length=80,
            epochs=2,
        )

    return make


@pytest.mark.nightly
def test_a_peer_trains_the_same_windows(options, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    finetune_epoch.benchmark(options(peer_python=sys.executable))
    printed = capsys.readouterr().out
    assert "| Hugging Face | " in printed


@pytest.mark.nightly
def test_tagged_words_are_trained(options, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "Player", PlayerHere)
    path, figures = tmp_path / "train.conll", tmp_path / "figures.json"
    path.write_text("the O\ncat B-ANIMAL\nsat O\n\n" * 8)
    files = {"tagging_file": str(path), "figures_file": str(figures)}
    finetune_epoch.benchmark(
        options(squad_file=None, mixed_precision="bfloat16", **files)
    )
    assert "| this project, float32 | " in capsys.readouterr().out
    rows = json.loads(figures.read_text())["rows"]
    names = [f"this project{way}" for way in ("", ", fixed length", ", float32")]
    assert [row[0] for row in rows] == names
    assert [cell["ratio"] for cell in rows[0][1:]] == [1, 1]


def test_refuses(options, tmp_path):
    with pytest.raises(UserError, match=r"only [0-9]+ rows .*; lower --rows=400"):
        finetune_epoch.benchmark(options(rows=400))
    with pytest.raises(UserError, match="Give --data_dir for SST-2, or --squad_file"):
        finetune_epoch.benchmark(options(data_dir=str(tmp_path)))
