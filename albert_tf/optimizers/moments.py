"""What LAMB and AdamW of the official code share."""

import keras
from keras import ops

from albert_tf.optimizers.rules import rule_of
from albert_tf.optimizers.rules import rules_table


class MomentsOptimizer(keras.optimizers.Optimizer):
    """Adam's moments without bias correction, and decay inside the update.

    m and v are averages of the gradient and its square; the update is
    `m / (sqrt(v) + epsilon)` plus `weight_decay_rate * w` for variables that are not
    excluded (official `optimization.py`, `lamb_optimizer.py`). Which rule holds for a
    variable follows from its path when the optimizer is built (`rules.py`).

    Args:
        learning_rate: a float or a schedule.
        weight_decay_rate: decay of all but biases and normalization parameters.
        beta_1: rate of the first moment's average.
        beta_2: rate of the second moment's average.
        epsilon: added outside the square root.
        bias_correction: divide the moments by `1 - beta ** t`, as Adam's paper does
            and the official code does not.
        learning_rate_factors: `{part of a path: factor}`; the rate of the variables
            below that part is multiplied by the factor (see `layer_decay.py`).

    Raises:
        UserError: in `build`, a variable that several rules claim.
    """

    adapts = False
    """Whether `adaptation` scales the updates."""

    def __init__(
        self,
        learning_rate=0.001,
        weight_decay_rate=0.01,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=False,
        learning_rate_factors=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.weight_decay_rate = weight_decay_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.bias_correction = bias_correction
        self.learning_rate_factors = learning_rate_factors or {}

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.excluded = [rule_of(variable.path).excluded for variable in variables]
        self.factors = [self._factor(variable.path) for variable in variables]
        self.first_moments = self._slots(variables, "adam_m")
        self.second_moments = self._slots(variables, "adam_v")

    def rules_table(self, variables):
        """Lines that say which of `variables` are decayed and adapted."""
        return rules_table(variables, self.weight_decay_rate, self.adapts)

    def _factor(self, path):
        found = [self.learning_rate_factors.get(part) for part in path.split("/")]
        return next((factor for factor in found if factor is not None), 1.0)

    def _slots(self, variables, name):
        return [self.add_variable_from_reference(v, name=name) for v in variables]

    def learning_rate_after(self, steps):
        """The rate of the step that comes after so many steps: float32 `[]`."""
        rate = self._learning_rate
        if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
            return rate(steps)
        return self.learning_rate

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        slots = (self.first_moments[index], self.second_moments[index])
        values = self.new_values(
            index, gradient, variable, *slots, learning_rate, self.iterations
        )
        for target, value in zip((variable, *slots), values, strict=True):
            self.assign(target, value)

    def new_values(self, index, gradient, weight, m, v, learning_rate, step):
        """Returns the weight and its moments after one step; changes nothing.

        Args:
            index: place of the variable among those that the optimizer was built with.
            gradient: of the loss by the weight, dense, of the weight's shape.
            weight: value before the step.
            m: first moment before the step.
            v: second moment before the step.
            learning_rate: of this step.
            step: number of steps before this one.
        """
        weight, m, v = (ops.convert_to_tensor(x) for x in (weight, m, v))
        update, m, v = self._update(index, gradient, weight, m, v, step)
        if not self.excluded[index]:
            update *= self.adaptation(weight, update)
        step_size = ops.cast(learning_rate, m.dtype) * self.factors[index]
        return weight - ops.cast(step_size * update, weight.dtype), m, v

    def trust_ratio(self, index, gradient, weight, m, v, step):
        """The `adaptation` of the step that `new_values` takes; 1 where excluded.

        The arguments are those of `new_values`.
        """
        if self.excluded[index]:
            return 1.0
        weight, m, v = (ops.convert_to_tensor(x) for x in (weight, m, v))
        update, *_ = self._update(index, gradient, weight, m, v, step)
        return self.adaptation(weight, update)

    def _update(self, index, gradient, weight, m, v, step):
        """The direction of the step, decay included, and the new moments."""
        gradient = ops.cast(gradient, m.dtype)
        m = self.beta_1 * m + (1.0 - self.beta_1) * gradient
        v = self.beta_2 * v + (1.0 - self.beta_2) * ops.square(gradient)
        m_hat, v_hat = self._corrected(m, v, step)
        update = m_hat / (ops.sqrt(v_hat) + self.epsilon)
        if not self.excluded[index]:
            update += self.weight_decay_rate * ops.cast(weight, m.dtype)
        return update, m, v

    def adaptation(self, weight, update):
        """Factor of the update of a variable that is not excluded."""
        return 1.0

    def _corrected(self, m, v, step):
        if not self.bias_correction:
            return m, v
        power = ops.cast(step, m.dtype) + 1.0
        return m / (1.0 - self.beta_1**power), v / (1.0 - self.beta_2**power)

    def get_config(self):
        return {
            **super().get_config(),
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "bias_correction": self.bias_correction,
            "learning_rate_factors": self.learning_rate_factors,
        }
