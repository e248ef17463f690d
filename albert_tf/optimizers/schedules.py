"""Learning-rate schedules: the official warm-up, then a decay."""

import math

import keras
from keras import ops

from albert_tf.errors import UserError


class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then a decay that counts from step 0; official `optimization.py`.

    With `s` steps before the warm-up, the rate is 0 up to step `s` (the official rate
    is negative there), `lr * (t - s) / W` at step `t < s + W`, and `lr * decay(t)`
    afterwards.

    Args:
        initial_learning_rate: the rate `lr`.
        num_train_steps: `N`, where the decay ends; the rate stays there afterwards.
        num_warmup_steps: `W`; 0 for no warm-up.
        start_warmup_step: `s`.

    Each public attribute of a subclass is an argument of its constructor.
    """

    def __init__(
        self,
        initial_learning_rate,
        num_train_steps,
        num_warmup_steps=0,
        start_warmup_step=0,
    ):
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps
        self.start_warmup_step = start_warmup_step

    def decay(self, step):
        """Returns the rate's factor after `step` steps, a float32 `[]`."""
        raise NotImplementedError

    def left(self, step):
        """Returns the share of all steps that is left, 0 from the last step on."""
        total = float(max(self.num_train_steps, 1))
        # 1 - N/N leaves a rounding error below 0 under some compilers.
        return ops.maximum(1.0 - ops.minimum(step, total) / total, 0.0)

    def __call__(self, step):
        step = ops.cast(step, "float32")
        factor = self.decay(step)
        done = step - float(self.start_warmup_step)
        if self.num_warmup_steps:
            warmup = ops.maximum(done, 0.0) / float(self.num_warmup_steps)
            factor = ops.where(done < self.num_warmup_steps, warmup, factor)
        return self.initial_learning_rate * factor

    def get_config(self):
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}


@keras.saving.register_keras_serializable(package="albert_tf")
class WarmupPolynomialDecay(WarmupSchedule):
    """The official schedule: `decay = (1 - t / N) ** power`.

    Args:
        power: exponent of the decay.
        **kwargs: arguments of `WarmupSchedule`.
    """

    def __init__(self, *args, power=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.power = power

    def decay(self, step):
        return ops.power(self.left(step), self.power)


@keras.saving.register_keras_serializable(package="albert_tf")
class WarmupCosineDecay(WarmupSchedule):
    """Half a cosine: `decay = (1 + cos(pi * t / N)) / 2`; see `WarmupSchedule`."""

    def decay(self, step):
        # The same, computed from the steps left: exactly 0 at the end.
        return ops.square(ops.sin(self.left(step) * (math.pi / 2)))


@keras.saving.register_keras_serializable(package="albert_tf")
class WarmupConstant(WarmupSchedule):
    """No decay: the full rate after the warm-up; see `WarmupSchedule`."""

    def decay(self, step):
        return ops.ones_like(step)


@keras.saving.register_keras_serializable(package="albert_tf")
class WarmupStableDecay(WarmupSchedule):
    """Warm-up, stable, decay: the full rate, then `1 - sqrt(done)` in the cooldown.

    A run can be extended from before its cooldown. This is the best cooldown of Hägele
    et al., arXiv 2405.18392.

    Args:
        cooldown: share of all steps in which the rate decays, at the end; 0 for none.
        **kwargs: arguments of `WarmupSchedule`.
    """

    def __init__(self, *args, cooldown=0.2, **kwargs):
        super().__init__(*args, **kwargs)
        if not 0 <= cooldown <= 1:
            raise UserError(f"cooldown={cooldown}: expected a share from 0 to 1.")
        self.cooldown = cooldown

    def decay(self, step):
        if not self.cooldown:
            return ops.ones_like(step)
        done = ops.maximum(1.0 - self.left(step) / self.cooldown, 0.0)
        return 1.0 - ops.sqrt(done)
