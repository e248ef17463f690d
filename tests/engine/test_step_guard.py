"""The loss scale of float16, and steps that are bad one after the other."""

import pytest
import tensorflow as tf

from albert_tf.engine.step_guard import StepGuard


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
    bad, good = (False, 1.0), (True, 0.0)
    found = judge(guard, [BAD, BAD, GOOD, OVERFLOW, BAD])
    assert found == [bad, bad, good, bad, bad]
    assert guard.diverged_steps() is None
    # After the third, nothing counts any more.
    assert judge(guard, [BAD, GOOD, BAD], first=5) == [bad] * 3
    assert guard.diverged_steps() == (4, 6)


@pytest.mark.parametrize("scales_loss", [False, True])
def test_a_loss_that_is_not_finite_is_a_bad_step(judge, scales_loss):
    """Its gradients may be finite: max(x, 0) of NaN has the gradient 0."""
    guard = StepGuard(2, scales_loss)
    (first, second) = judge(guard, [(False, True), (False, True)])
    assert first[:2] == second[:2] == (False, 1.0)
    assert guard.diverged_steps() == (1, 2)
    if scales_loss:
        assert float(guard.loss_scale) == 2.0**15
        assert int(guard.state["good_steps"]) == 0


def test_an_overflow_halves_the_scale_and_is_not_divergence(judge):
    guard = StepGuard(2, scales_loss=True)
    assert float(guard.loss_scale) == 2.0**15
    judged = judge(guard, [OVERFLOW, OVERFLOW, OVERFLOW, GOOD])
    assert judged == [
        (False, 0.0, 1.0, 2.0**15),
        (False, 0.0, 1.0, 2.0**14),
        (False, 0.0, 1.0, 2.0**13),
        (True, 0.0, 0.0, 2.0**12),
    ]
    assert guard.diverged_steps() is None


def test_the_scale_doubles_after_2000_good_steps(judge):
    guard = StepGuard(2, scales_loss=True)
    judge(guard, [OVERFLOW])
    guard.state["good_steps"].assign(1998)
    judge(guard, [GOOD])
    assert float(guard.loss_scale) == 2.0**14
    judge(guard, [GOOD])
    assert float(guard.loss_scale) == 2.0**15
    assert int(guard.state["good_steps"]) == 0


def test_an_overflow_at_the_least_scale_is_divergence(judge):
    guard = StepGuard(2, scales_loss=True)
    guard.state["loss_scale"].assign(1.0)
    judge(guard, [OVERFLOW, OVERFLOW])
    assert guard.diverged_steps() == (1, 2)
    assert float(guard.loss_scale) == 1.0


def test_the_names_in_checkpoints_stay(tmp_path):
    """A run that began before goes on."""
    checkpoint = tf.train.Checkpoint(guard=StepGuard(2, scales_loss=True))
    path = checkpoint.write(str(tmp_path / "run"))
    names = {name.partition("/.")[0] for name, _ in tf.train.list_variables(path)}
    names.discard("_CHECKPOINTABLE_OBJECT_GRAPH")
    assert names == {"guard/_bad_run", "guard/_scale", "guard/_good_steps"}
