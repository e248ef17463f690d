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


@pytest.mark.parametrize(
    ("scale", "verdicts", "judged", "after", "diverged"),
    [
        # An overflow halves the scale, and is divergence at the least one alone.
        (8.0, [OVERFLOW] * 2, [(False, 0.0, 1.0, 8.0), (False, 0.0, 1.0, 4.0)], 2.0, 0),
        (1.0, [OVERFLOW] * 2, [(False, 1.0, 0.0, 1.0)] * 2, 1.0, (1, 2)),
        # Gradients of a bad loss may be finite: max(x, 0) of NaN has the gradient 0.
        (8.0, [(False, True)] * 2, [(False, 1.0, 0.0, 8.0)] * 2, 8.0, (1, 2)),
        (8.0, [BAD, BAD], [(False, 1.0, 0.0, 8.0)] * 2, 8.0, (1, 2)),
        (8.0, [GOOD], [(True, 0.0, 0.0, 8.0)], 8.0, 0),
    ],
)
def test_the_scale_of_losses(judge, scale, verdicts, judged, after, diverged):
    guard = StepGuard(2, scales_loss=True)
    assert float(guard.loss_scale) == 2.0**15
    guard.state["loss_scale"].assign(scale)
    assert judge(guard, verdicts) == judged
    assert float(guard.loss_scale) == after
    assert guard.diverged_steps() == (diverged or None)


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
