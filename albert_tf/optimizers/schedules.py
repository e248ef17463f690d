"""Learning-rate schedules."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_tf")
class WarmupPolynomialDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then polynomial decay to 0; official `optimization.py`.

    The decay counts from step 0, not from the end of the warm-up, so that the rate
    at step `t < W` is `lr * t / W` and from `t = W` on `lr * (1 - t / N) ** power`.

    Args:
        initial_learning_rate: the rate `lr`.
        num_train_steps: `N`, where the rate reaches 0; it stays 0 afterwards.
        num_warmup_steps: `W`; 0 for no warm-up.
        power: exponent of the decay.
    """

    def __init__(
        self, initial_learning_rate, num_train_steps, num_warmup_steps=0, power=1.0
    ):
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps
        self.power = power

    def __call__(self, step):
        step = ops.cast(step, "float32")
        total = float(max(self.num_train_steps, 1))
        left = 1.0 - ops.minimum(step, total) / total
        # 1 - N/N leaves a rounding error below 0 under some compilers.
        decay = ops.power(ops.maximum(left, 0.0), self.power)
        factor = decay
        if self.num_warmup_steps:
            warmup = step / float(self.num_warmup_steps)
            factor = ops.where(step < self.num_warmup_steps, warmup, decay)
        return self.initial_learning_rate * factor

    def get_config(self):
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "num_train_steps": self.num_train_steps,
            "num_warmup_steps": self.num_warmup_steps,
            "power": self.power,
        }
