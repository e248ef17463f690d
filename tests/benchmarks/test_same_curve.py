"""Losses here and in PyTorch, from one start on the same batches."""

import json

import pytest

from albert_tf.errors import UserError
from benchmarks.measuring import turns
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


@pytest.mark.nightly
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


@pytest.mark.parametrize("shift", [2e-4, float("nan")])
def test_a_difference_beyond_the_tolerance_fails(shift, tmp_path, capsys):
    own = {term: [3.0, 2.5] for term in same_curve.TERMS}
    theirs = {**own, "masked_lm_loss": [3.0, 2.5 + shift]}
    found = {("albert", "adamw"): {"albert-tf": own, "Hugging Face": theirs}}
    with pytest.raises(UserError, match="The losses differ by (2.0e-04|nan), more"):
        same_curve._report(found, tmp_path, 1e-4)
    assert "| albert, adamw | sentence order | 3.0000 | 2.5000 | 0.0e+00 |" in (
        capsys.readouterr().out
    )


def test_a_peer_that_fails_is_named():
    command = turns.command_of("false", "hugging_face_curve", {"start": "nowhere"})
    with pytest.raises(UserError, match="hugging_face_curve ended with status 1; its"):
        turns.Player(command)


def test_pytorch_is_asked_for_first(options, tmp_path):
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        same_curve.benchmark(options(peer_python="false"))
    assert not (tmp_path / "curves").exists()
