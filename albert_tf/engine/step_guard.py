"""Guard against steps whose numbers are not finite: overflow or divergence."""

import tensorflow as tf

_INITIAL_SCALE = 2.0**15
_GROWTH_STEPS = 2000


class StepGuard(tf.Module):
    """Counts steps that are not finite, and keeps the loss scale of float16.

    The scale follows Keras' `LossScaleOptimizer`: it starts at 2**15, is halved when
    scaled gradients overflow, doubled after 2000 good steps, and never falls below 1.
    In an overflow, the loss itself is finite. A step is bad if its loss is not finite,
    or if its gradients are not and the scale is not the cause; after `max_bad_steps`
    consecutive bad steps, nothing changes any more.

    It must be made in `strategy.scope()`; checkpoints save all its state.

    Args:
        max_bad_steps: the number of consecutive bad steps that ends a run.
        scales_loss: whether the model computes in float16.
    """

    def __init__(self, max_bad_steps, scales_loss):
        super().__init__()
        self.max_bad_steps = max_bad_steps
        self.scales_loss = scales_loss
        self.metric_names = ("skipped",)
        # Checkpoints use the names of these attributes.
        self._bad_run = tf.Variable(tf.zeros([2], tf.int32), trainable=False)
        if scales_loss:
            self.metric_names += ("overflowed", "loss_scale")
            self._scale = tf.Variable(_INITIAL_SCALE, trainable=False)
            self._good_steps = tf.Variable(0, dtype=tf.int32, trainable=False)

    @property
    def state(self):
        """The variables by name.

        `bad_run`, int32 `[2]`: the number of consecutive bad steps, and the first one.
        If the loss is scaled, also `loss_scale`, float32 `[]`, and `good_steps`, int32
        `[]`: good steps since the scale changed.
        """
        state = {"bad_run": self._bad_run}
        if self.scales_loss:
            state |= {"loss_scale": self._scale, "good_steps": self._good_steps}
        return state

    @property
    def loss_scale(self):
        """The factor for the loss: float32 `[]`, or 1.0."""
        return self._scale.value() if self.scales_loss else 1.0

    def in_bad_run(self):
        """Returns whether the last step was bad."""
        return bool(self._bad_run.numpy()[0])

    def diverged_steps(self):
        """Returns the first and last bad step if they ended training, or None."""
        count, first = self._bad_run.numpy().tolist()
        return (first, first + count - 1) if count >= self.max_bad_steps else None

    def judge(self, state, loss_is_finite, gradients_are_finite, step):
        """Judges a step without changing anything.

        Args:
            state: `{name: value}` of `state` before the step.
            loss_is_finite: bool `[]`.
            gradients_are_finite: bool `[]`, for all replicas' gradients together.
            step: int `[]`, the number of earlier steps.

        Returns:
            Whether the step counts, bool `[]`; `{name: value}` of `state` after it;
            and float32 `[metrics]`, the values of `metric_names`.
        """
        bad_run, scale = state["bad_run"], state.get("loss_scale")
        ended = bad_run[0] >= self.max_bad_steps
        overflowed = tf.constant(False)
        if self.scales_loss:
            overflowed = loss_is_finite & ~gradients_are_finite & (scale > 1.0)
        good = loss_is_finite & gradients_are_finite
        bad = ~good & ~overflowed
        first = tf.where(bad_run[0] == 0, tf.cast(step, tf.int32) + 1, bad_run[1])
        count = tf.where(bad, bad_run[0] + 1, tf.where(overflowed, bad_run[0], 0))
        new_state = {"bad_run": tf.where(ended, bad_run, tf.stack([count, first]))}
        counts = good & ~ended
        metrics = [tf.cast(bad | ended, tf.float32)]
        if self.scales_loss:
            metrics += [tf.cast(overflowed, tf.float32), scale]
            new_state |= _new_scale(scale, state["good_steps"], counts, overflowed)
        return counts, new_state, tf.stack(metrics)


def _new_scale(scale, good_steps, good, overflowed):
    """Computes `loss_scale` and `good_steps` after a step."""
    good_steps = tf.where(overflowed, 0, good_steps + tf.cast(good, tf.int32))
    grows = good_steps >= _GROWTH_STEPS
    smaller = tf.maximum(scale / 2.0, 1.0)
    larger = tf.where(grows, scale * 2.0, scale)
    return {
        "loss_scale": tf.where(overflowed, smaller, larger),
        "good_steps": tf.where(grows, 0, good_steps),
    }
