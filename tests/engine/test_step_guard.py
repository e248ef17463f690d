"""Layers in bfloat16 or float16: the loss scale, and steps that are bad in a row."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.step_guard import StepGuard

STEPS = 2


@pytest.fixture
def results_of(take_step):
    """Trains one step on rows with a loss scale; returns its metrics by name."""

    def run(trainer, rows, scale=None):
        if scale is not None:
            trainer._train_step.guard.state["loss_scale"].assign(scale)
        return {name: sums[0] for name, sums in take_step(trainer, rows).items()}

    return run


def test_what_a_run_does_unless_told_otherwise():
    """Clipping is official, the guard's patience that of the documentation."""
    own, fields = vars(TrainerOptions), dataclasses.fields(TrainerOptions)
    assert {field.name: field.default for field in fields if field.name in own} == {
        "eval_steps": 0,
        "eval_at_start": True,
        "best_metric": None,
        "lower_is_better": False,
        "patience": 0,
        "identity": (),
        "restart_data": False,
        "clip_norm": 1.0,
        "use_xla": True,
        "xla_beside_products": False,
        "seed": 12345,
        "max_bad_steps": 20,
        "flops_per_token": None,
        "peak_flops": None,
        "evaluated": "held out",
    }


@pytest.mark.slow
def test_training_stays_close_to_float32(make_trainer, batches, weights):
    exact = make_trainer(STEPS, directory="exact")
    before = weights(exact)
    exact.train(batches())
    trainer = make_trainer(STEPS, dtype="mixed_bfloat16")
    trainer.train(batches())
    optimizer = trainer.optimizer
    kept = [*trainer.model.trainable_variables, *optimizer.first_moments]
    assert {v.dtype for v in [*kept, *optimizer.second_moments]} == {"float32"}
    found = weights(trainer)
    for name, value in weights(exact).items():
        # Weights move by 0.05 at most a step, signs of tiny gradients may differ.
        error = np.abs(found[name] - value).mean()
        if "key/bias" not in name:
            assert error < 0.3 * np.abs(value - before[name]).mean() + 1e-6, name


def moments_of(trainer):
    """The sizes of the moments of each variable's squared gradients."""
    return np.sqrt([np.sum(v.numpy()) for v in trainer.optimizer.second_moments])


@pytest.mark.slow
def test_the_scale_is_divided_out(make_trainer, rows, results_of):
    """Gradients far below float16's range arrive, whatever the scale.

    Weights alone would not tell: LAMB and Adam divide by the gradients' size.
    """
    exact = make_trainer(1)
    norm, moments = results_of(exact, rows)["gradient_norm"], moments_of(exact)
    half = make_trainer(1, dtype="mixed_float16")
    found = results_of(half, rows, 2.0**8)["gradient_norm"]
    np.testing.assert_allclose(found, norm, rtol=0.02)
    atol = 0.01 * moments.max()
    np.testing.assert_allclose(moments_of(half), moments, rtol=0.05, atol=atol)


@pytest.mark.slow
def test_an_overflow_skips_the_step_and_is_saved(
    make_trainer, rows, batches, weights, results_of
):
    trainer = make_trainer(1, dtype="mixed_float16", max_bad_steps=1)
    before = weights(trainer)
    results = results_of(trainer, rows, scale=2.0**40)
    assert (results["overflowed"], results["skipped"]) == (1.0, 0.0)
    assert np.isfinite(results["masked_lm_loss"])
    for name, value in weights(trainer).items():
        np.testing.assert_array_equal(value, before[name])
    trainer.train(batches())  # only saves: the one step is done
    again = make_trainer(2, dtype="mixed_float16", max_bad_steps=1)
    again.train(batches())
    assert float(again._train_step.guard.loss_scale) == 2.0**38


@pytest.fixture
def judge():
    """Feeds a guard with (loss is finite, gradients are finite), step by step."""

    def run(guard, verdicts, first=0):
        judged = []
        for step, (loss, gradients) in enumerate(verdicts, first):
            counts, values, metrics = guard.judge(
                {k: tf.convert_to_tensor(v) for k, v in guard.state.items()},
                tf.constant(loss),
                tf.constant(gradients),
                tf.constant(step),
            )
            for name, variable in guard.state.items():
                variable.assign(values[name])
            judged.append((bool(counts), *metrics.numpy().tolist()))
        return judged

    return run


GOOD, OVERFLOW, BAD = (True, True), (True, False), (False, False)


def test_only_bad_steps_in_a_row_end_a_run(judge):
    guard = StepGuard(3, scales_loss=False)
    assert guard.loss_scale == 1.0
    bad, good = (False, 1.0), (True, 0.0)
    found = judge(guard, [BAD, BAD, GOOD, OVERFLOW, BAD])
    assert found == [bad, bad, good, bad, bad]
    assert guard.diverged_steps() is None
    # After the third, nothing counts any more.
    assert judge(guard, [BAD, GOOD, BAD], first=5) == [bad] * 3
    assert guard.diverged_steps() == (4, 6)


@pytest.mark.parametrize(
    ("scale", "verdicts", "judged", "after", "diverged", "good"),
    [
        # An overflow halves the scale, and is divergence at the least one alone.
        (8, [OVERFLOW] * 2, [(False, 0, 1, 8), (False, 0, 1, 4)], 2, None, 0),
        (1.5, [OVERFLOW], [(False, 0, 1, 1.5)], 1, None, 0),
        (1, [OVERFLOW] * 2, [(False, 1, 0, 1)] * 2, 1, (1, 2), 5),
        # Gradients of a bad loss may be finite: max(x, 0) of NaN has the gradient 0.
        (8, [(False, True)] * 2, [(False, 1, 0, 8)] * 2, 8, (1, 2), 5),
        (8, [BAD, BAD], [(False, 1, 0, 8)] * 2, 8, (1, 2), 5),
        (8, [GOOD], [(True, 0, 0, 8)], 8, None, 6),
    ],
)
def test_the_scale_of_losses(judge, scale, verdicts, judged, after, diverged, good):
    guard = StepGuard(2, scales_loss=True)
    assert float(guard.loss_scale) == 2.0**15
    guard.state["loss_scale"].assign(scale)
    guard.state["good_steps"].assign(5)
    assert judge(guard, verdicts) == judged
    assert float(guard.loss_scale) == after
    assert int(guard.state["good_steps"]) == good
    assert guard.diverged_steps() == diverged


def test_the_scale_doubles_after_2000_good_steps(judge):
    guard = StepGuard(2, scales_loss=True)
    judge(guard, [OVERFLOW])
    guard.state["good_steps"].assign(1998)
    for scale in (2.0**14, 2.0**15):
        judge(guard, [GOOD])
        assert float(guard.loss_scale) == scale
    assert int(guard.state["good_steps"]) == 0


def test_the_names_in_checkpoints_stay(tmp_path):
    """A run that began before goes on."""
    checkpoint = tf.train.Checkpoint(guard=StepGuard(2, scales_loss=True))
    path = checkpoint.write(str(tmp_path / "run"))
    names = {name.partition("/.")[0] for name, _ in tf.train.list_variables(path)}
    names.discard("_CHECKPOINTABLE_OBJECT_GRAPH")
    assert names == {"guard/_bad_run", "guard/_scale", "guard/_good_steps"}
