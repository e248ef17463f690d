"""Losses here and in PyTorch, from one start on the same batches."""

import json
import sys

import numpy as np
import pytest

from albert_tf.errors import UserError
from benchmarks.same_curve import __main__ as same_curve


@pytest.fixture
def options(material, tmp_path):
    """Makes the options of a few steps of narrow models."""

    def make(**changes):
        values = {
            "input_file": str(material / "data" / "train*.tfrecord"),
            "spm_model_file": str(material / "vocab.model"),
            "output_dir": str(tmp_path / "curves"),
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_train_steps": 5,
            "train_batch_size": 4,
        }
        return same_curve.Options(**{**values, **changes})

    return make


def test_five_steps_equal_those_of_pytorch(options, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    found = same_curve.benchmark(options())
    assert list(found) == [
        ("albert", "adamw"),
        ("albert", "lamb"),
        ("bert", "adamw"),
        ("bert", "lamb"),
    ]
    starts = [sides["albert-tf"]["masked_lm_loss"][0] for sides in found.values()]
    assert starts[0] == starts[1] != starts[2] == starts[3]
    assert json.loads((tmp_path / "curves" / "losses.json").read_text())


def _answering(shift):
    """A peer whose losses are ours, and a bit more."""

    def peer(python, setting):
        from benchmarks.same_curve import ours

        own = ours.losses(setting)
        own["masked_lm_loss"] = [loss + shift for loss in own["masked_lm_loss"]]
        return own

    return peer


@pytest.mark.parametrize(("shift", "differs"), [(0.0, False), (2e-4, True)])
def test_a_difference_beyond_the_tolerance_fails(
    shift, differs, options, monkeypatch, capsys
):
    monkeypatch.setattr(same_curve, "_peer", _answering(shift))
    monkeypatch.setattr("benchmarks.turns.check_peer", lambda python: None)
    few = options(models="albert", optimizers="adamw")
    if differs:
        with pytest.raises(UserError, match=r"differ by 2\.0e-04, more than 0\.0001"):
            same_curve.benchmark(few)
    else:
        found = same_curve.benchmark(few)["albert", "adamw"]
        losses = found["albert-tf"]["masked_lm_loss"]
        assert len(losses) == 5 and losses == found["Hugging Face"]["masked_lm_loss"]
    rows = capsys.readouterr().out.splitlines()[-2:]
    difference = rows[0].split(" | ")[-1]
    np.testing.assert_allclose(float(difference.rstrip(" |")), shift, rtol=0.02)
    assert rows[1].startswith("| albert, adamw | sentence order |")


@pytest.mark.parametrize("flag", ["models", "optimizers"])
def test_unknown_names(flag, options):
    with pytest.raises(UserError, match=f"--{flag} has 'x'; choose from a"):
        same_curve.benchmark(options(**{flag: "x"}))


def test_a_peer_that_fails_is_named():
    with pytest.raises(UserError, match="hugging_face failed; its messages are above"):
        same_curve._peer(sys.executable, {"start": "nowhere"})


def test_pytorch_is_asked_for_first(options, tmp_path):
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        same_curve.benchmark(options(peer_python="false"))
    assert not (tmp_path / "curves").exists()
