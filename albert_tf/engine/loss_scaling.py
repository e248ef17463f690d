"""What a step whose numbers are not finite means: an overflow, or divergence."""

import tensorflow as tf

_INITIAL_SCALE = 2.0**15
_GROWTH_STEPS = 2000


class StepGuard(tf.Module):
    """Counts steps that are not finite, and keeps the loss scale of float16.

    The scale is that of Keras' `LossScaleOptimizer`: it starts at 2**15, is halved
    when scaled gradients overflow and doubled after 2000 good steps, and never falls
    below 1. An overflow is a matter of the scale: the loss itself is finite. A loss
    that is not, or gradients that are not without a scale, are a bad step; after
    `max_bad_steps` of these in a row nothing is changed any more.

    Made in `strategy.scope()`; all of it is saved with a run.

    Args:
        max_bad_steps: bad steps in a row that end a run.
        scales_loss: whether the model computes in float16.
    """

    def __init__(self, max_bad_steps, scales_loss):
        super().__init__()
        self.max_bad_steps = max_bad_steps
        self.scales_loss = scales_loss
        self.metric_names = ("skipped",)
        # How many steps in a row were bad, and the number of the first of them.
        self._bad_run = tf.Variable([0, 0], dtype=tf.int32, trainable=False)
        self.state = [self._bad_run]
        if scales_loss:
            self.metric_names += ("overflowed", "loss_scale")
            self._scale = tf.Variable(_INITIAL_SCALE, trainable=False)
            self._good_steps = tf.Variable(0, dtype=tf.int32, trainable=False)
            self.state += [self._scale, self._good_steps]

    @property
    def loss_scale(self):
        """What the loss is multiplied by: float32 `[]`, or 1.0."""
        return self._scale.value() if self.scales_loss else 1.0

    def in_bad_run(self):
        """Whether the last step was bad."""
        return bool(self._bad_run.numpy()[0])

    def diverged_steps(self):
        """The first and last step of the bad run that ended training, or None."""
        count, first = self._bad_run.numpy().tolist()
        return (first, first + count - 1) if count >= self.max_bad_steps else None

    def new_values(self, state, loss_is_finite, gradients_are_finite, step):
        """Judges a step; changes nothing.

        Args:
            state: values of `state` before the step.
            loss_is_finite: bool `[]`.
            gradients_are_finite: bool `[]`, of all replicas' gradients together.
            step: int `[]`, number of steps before this one.

        Returns:
            Whether the step counts, bool `[]`; the values of `state` after it; and
            float32 `[metrics]`, the values of `metric_names`.
        """
        bad_run, *scaling = state
        ended = bad_run[0] >= self.max_bad_steps
        overflowed = tf.constant(False)
        if self.scales_loss:
            overflowed = loss_is_finite & ~gradients_are_finite & (scaling[0] > 1.0)
        good = loss_is_finite & gradients_are_finite
        bad = ~good & ~overflowed
        first = tf.where(bad_run[0] == 0, tf.cast(step, tf.int32) + 1, bad_run[1])
        count = tf.where(bad, bad_run[0] + 1, tf.where(overflowed, bad_run[0], 0))
        new_run = tf.where(ended, bad_run, tf.stack([count, first]))
        counts = good & ~ended
        metrics = [tf.cast(bad | ended, tf.float32)]
        if self.scales_loss:
            metrics += [tf.cast(overflowed, tf.float32), scaling[0]]
            scaling = _scaled(*scaling, counts, overflowed)
        return counts, [new_run, *scaling], tf.stack(metrics)


def _scaled(scale, good_steps, good, overflowed):
    """The scale, and the good steps since it changed, after a step."""
    good_steps = tf.where(overflowed, 0, good_steps + tf.cast(good, tf.int32))
    grows = good_steps >= _GROWTH_STEPS
    smaller = tf.maximum(scale / 2.0, 1.0)
    larger = tf.where(grows, scale * 2.0, scale)
    return [tf.where(overflowed, smaller, larger), tf.where(grows, 0, good_steps)]
