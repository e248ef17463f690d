"""Losses here and in PyTorch, from one start on the same batches."""

import contextlib
import json
import math
from unittest import mock

import numpy as np
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


@pytest.fixture
def sides_that_differ(monkeypatch):
    """Puts answers in the place of both sides; the peer's losses are a bit higher."""

    def put(shift):
        terms = ("masked_lm_loss", "sentence_order_loss")
        own = {name: [3.0, 2.5, 2.0, 1.5] for name in terms}
        own |= {"seconds": [9.0, 1.0, 1.0, 1.0], "held_out": [2.75, 1.75]}
        theirs = {**own, terms[0]: [loss + shift for loss in own[terms[0]]]}
        monkeypatch.setattr(turns, "check_peer", lambda python: None)
        monkeypatch.setattr("benchmarks.same_curve.ours.train", lambda setting: own)
        peer = contextlib.nullcontext(mock.Mock(turn=lambda: theirs))
        monkeypatch.setattr(turns, "Player", lambda command: peer)

    return put


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("shift", "differs"), [(0.0, False), (2e-4, True), (float("nan"), True)]
)
def test_a_difference_beyond_the_tolerance_fails(
    shift, differs, options, sides_that_differ, capsys
):
    sides_that_differ(shift)
    few = options(models="albert", optimizers="adamw")
    if differs:
        with pytest.raises(UserError, match="The losses differ by (2.0e-04|nan), more"):
            same_curve.benchmark(few)
    if not math.isnan(shift):
        wide = options(models="albert", optimizers="adamw", tolerance=1e-3)
        assert list(same_curve.benchmark(wide)) == [("albert", "adamw")]
    rows = capsys.readouterr().out.splitlines()[-2:]
    difference = rows[0].split(" | ")[-1]
    np.testing.assert_allclose(float(difference.rstrip(" |")), shift, rtol=0.02)
    assert rows[1].startswith("| albert, adamw | sentence order |")


def test_a_peer_that_fails_is_named():
    command = turns.command_of("false", "hugging_face_curve", {"start": "nowhere"})
    with pytest.raises(UserError, match="hugging_face_curve ended with status 1; its"):
        turns.Player(command)


def test_pytorch_is_asked_for_first(options, tmp_path):
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        same_curve.benchmark(options(peer_python="false"))
    assert not (tmp_path / "curves").exists()
