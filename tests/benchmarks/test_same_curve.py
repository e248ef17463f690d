"""Losses here and in PyTorch, from one start on the same batches."""

import json
import math
import sys

import numpy as np
import pytest

from albert_tf.errors import UserError
from benchmarks.same_curve import __main__ as same_curve
from benchmarks.same_curve import material as sides
from benchmarks.same_curve import quality


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


@pytest.mark.slow
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
        monkeypatch.setattr(
            "benchmarks.measuring.turns.check_peer", lambda python: None
        )
        monkeypatch.setattr("benchmarks.same_curve.ours.train", lambda setting: own)
        monkeypatch.setattr(sides, "peer", lambda python, setting: theirs)

    return put


@pytest.mark.slow
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


@pytest.mark.parametrize("flag", ["models", "optimizers"])
def test_unknown_names(flag, options):
    with pytest.raises(UserError, match=f"--{flag} has 'x'; choose from a"):
        same_curve.benchmark(options(**{flag: "x"}))


def test_a_peer_that_fails_is_named():
    with pytest.raises(UserError, match="hugging_face failed; its messages are above"):
        sides.peer(sys.executable, {"start": "nowhere"})


def test_pytorch_is_asked_for_first(options, tmp_path):
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        same_curve.benchmark(options(peer_python="false"))
    assert not (tmp_path / "curves").exists()


@pytest.fixture
def quality_options(material, tmp_path):
    """Makes the options of a few steps of the demo's model."""

    def make(**changes):
        values = {
            "input_file": str(material / "data" / "train*.tfrecord"),
            "eval_file": str(material / "data" / "held_out" / "*.tfrecord"),
            "spm_model_file": str(material / "vocab.model"),
            "output_dir": str(tmp_path / "quality"),
            "max_steps": 4,
            "eval_steps": 2,
            "eval_batches": 1,
        }
        return quality.Options(**{**values, **changes})

    return make


def test_time_to_quality_with_pytorch(quality_options):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    found = quality.benchmark(quality_options(losses="20,1"))
    assert all(0 < seconds < 60 for seconds in found[20.0])
    assert found[1.0] == (float("inf"), float("inf"))
    setting = {**quality.prepare(quality_options(), 1.0), "bfloat16": False}
    exact = sides.peer(sys.executable, setting)["held_out"]
    rounded = sides.peer(sys.executable, {**setting, "bfloat16": True})["held_out"]
    assert exact != rounded == pytest.approx(exact, abs=0.05)


def test_time_to_quality(quality_options, sides_that_differ, capsys):
    sides_that_differ(0.0)
    found = quality.benchmark(quality_options(losses="2,3,1"))
    assert found == {3.0: (2.0, 2.0), 2.0: (4.0, 4.0), 1.0: (math.inf, math.inf)}
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert rows[1:] == [
        "| 2 | 4.0 | 4.0 | 1.00 |",
        "| 1 | not reached | not reached | — |",
    ]
    with pytest.raises(UserError, match=r"--losses=low: expected 5.0,4.6"):
        quality.benchmark(quality_options(losses="low"))
    with pytest.raises(UserError, match=r"--max_steps=4: expected from --eval_steps=9"):
        quality.benchmark(quality_options(eval_steps=9))
    with pytest.raises(UserError, match=r"5 batches of 64 .*; 9 are needed\. Lower"):
        quality.benchmark(quality_options(eval_batches=9))


def test_our_side_trains_as_it_is_told(quality_options, monkeypatch):
    from benchmarks.same_curve import ours

    # XLA compiles longer than all the rest takes; tests/engine has steps with it.
    monkeypatch.setattr(ours, "pretraining_xla", lambda *_: {"use_xla": False})
    setting = {**quality.prepare(quality_options(), 1.0), "num_warmup_steps": 0}
    exact = ours.train(setting)
    rounded = ours.train({**setting, "bfloat16": True})["held_out"]
    assert len(exact["masked_lm_loss"]) == len(exact["seconds"]) == 4
    assert exact["held_out"][1] < exact["held_out"][0] < 3.6  # the logarithm of 36
    assert exact["held_out"] != rounded == pytest.approx(exact["held_out"], abs=0.05)


def test_seconds_until_a_loss_do_not_count_the_tracing():
    side = {"seconds": [60.0, 1.0, 2.0, 2.0, 3.0, 9.0], "held_out": [5.0, 4.0, 3.0]}
    assert quality.seconds_until(5.0, side, 2) == 2.0
    assert quality.seconds_until(4.5, side, 2) == 1.0 + 1.0 + 2.0 + 2.0
    assert quality.seconds_until(1.0, side, 2) == float("inf")
