"""Optimizers whose step is a pure function of weights, gradients and moments."""

import math

import keras
from keras import ops

from albert_tf.optimizers.rules import OTHER
from albert_tf.optimizers.rules import RULES
from albert_tf.optimizers.rules import rule_of


class MomentsOptimizer(keras.optimizers.Optimizer):
    """The base of optimizers that keep moments of the gradients, or none.

    A subclass names its moments, and its `direction` computes their new values and the
    step. Unless a variable is excluded, this class adds the decay `weight_decay_rate *
    w` inside the update (official `optimization.py`, `lamb_optimizer.py`) and scales
    the sum by `trust_ratio`. When the optimizer is built, a variable's path determines
    its rule (`rules.py`).

    Args:
        learning_rate: a float or a schedule.
        weight_decay_rate: decay of all but biases and normalization parameters.
        learning_rate_factors: `{part of a path: factor}`, factors of the learning rate
            of the variables below that part (see `layer_factors`).
        gradient_factors: the same for clipped gradients, before the moments.
        also_excluded: names of further rules whose variables are neither decayed nor
            adapted.

    Raises:
        UserError: in `build`, a variable that several rules claim.
    """

    moment_names = ()
    """Names of the moments. Each is an attribute: a list of variables, initially zero,
    for the weights that have the moment."""
    own_arguments = (
        "weight_decay_rate",
        "learning_rate_factors",
        "also_excluded",
        "gradient_factors",
    )
    """Further arguments of the constructor, each an attribute of the same name."""
    adapts = False
    """True if `trust_ratio` scales the updates."""

    def __init__(
        self,
        learning_rate=0.001,
        weight_decay_rate=0.01,
        learning_rate_factors=None,
        also_excluded=(),
        gradient_factors=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.weight_decay_rate = weight_decay_rate
        self.also_excluded = tuple(also_excluded)
        self.learning_rate_factors = learning_rate_factors or {}
        self.gradient_factors = gradient_factors or {}

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.excluded = [
            self._excludes(rule_of(variable.path)) for variable in variables
        ]
        self.factors = [self.rate_factor(variable) for variable in variables]
        self.factors_of_gradients = [
            _factor(variable, self.gradient_factors) for variable in variables
        ]
        for name in self.moment_names:
            moment = [
                self.add_variable_from_reference(variable, name=name)
                for index, variable in enumerate(variables)
                if name in self.moments_of(index)
            ]
            setattr(self, name, moment)

    def rate_factor(self, variable):
        """Returns the factor of a variable's learning rate."""
        return _factor(variable, self.learning_rate_factors)

    def moments_of(self, index):
        """Returns the names of the moments of the weight at `index`; all by default."""
        return self.moment_names

    @property
    def moments(self):
        """`{name: variable}` for each weight; moments have its shape and dtype."""
        following = {name: iter(getattr(self, name)) for name in self.moment_names}
        return [
            {name: next(following[name]) for name in self.moments_of(index)}
            for index in range(len(self.excluded))
        ]

    def rules_table(self, variables):
        """Formats a table of each rule's number of variables and effect, as lines."""
        lines = []
        for rule in (*RULES, OTHER):
            own = [v for v in variables if rule_of(v.path) == rule]
            if not own:
                continue
            parameters = sum(math.prod(v.shape) for v in own)
            treatment = "neither decayed nor adapted" if self.adapts else "not decayed"
            if not self._excludes(rule):
                treatment = f"decayed by {self.weight_decay_rate:g}"
                treatment += ", each with its own trust ratio" if self.adapts else ""
            if rule == OTHER:
                treatment += f": {', '.join(v.path for v in own)}"
            lines.append(
                f"{len(own):5} {rule.name:15}{parameters:>14,} parameters  {treatment}"
            )
        return lines

    def _excludes(self, rule):
        """Returns whether variables of a `Rule` are neither decayed nor adapted."""
        return rule.excluded or rule.name in self.also_excluded

    def learning_rate_after(self, steps):
        """Returns the learning rate after `steps` steps: float32 `[]`."""
        rate = self._learning_rate
        if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
            return rate(steps)
        return self.learning_rate

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        moments = self.moments[index]
        # TensorFlow's gradient of a lookup is sparse; adding zeros makes it dense.
        gradient = ops.add(ops.zeros(variable.shape, gradient.dtype), gradient)
        weight, values = self.new_values(
            index, gradient, variable, moments, learning_rate, self.iterations
        )
        self.assign(variable, weight)
        for name, value in values.items():
            self.assign(moments[name], value)

    def new_values(self, index, gradient, weight, moments, learning_rate, step):
        """Computes the weight and its moments after one step; changes nothing.

        Args:
            index: the variable's index in the optimizer's list.
            gradient: the loss gradient, dense, of the weight's shape.
            weight: value before the step.
            moments: `{name: value before the step}`.
            learning_rate: this step's.
            step: the number of earlier steps.
        """
        weight = ops.convert_to_tensor(weight)
        update, moments = self._update(index, gradient, weight, moments, step)
        if not self.excluded[index]:
            update *= self.trust_ratio(weight, update)
        step_size = ops.cast(learning_rate, update.dtype) * self.factors[index]
        return weight - step_size * update, moments

    def applied_trust_ratio(self, index, gradient, weight, moments, step):
        """Returns the `trust_ratio` that `new_values` applies; 1 if excluded."""
        if self.excluded[index]:
            return 1.0
        weight = ops.convert_to_tensor(weight)
        update, _ = self._update(index, gradient, weight, moments, step)
        return self.trust_ratio(weight, update)

    def _update(self, index, gradient, weight, moments, step):
        """Computes the update, including decay, and the new moments."""
        moments = {name: ops.convert_to_tensor(m) for name, m in moments.items()}
        gradient = ops.cast(gradient, weight.dtype)
        if self.gradient_factors:
            gradient *= self.factors_of_gradients[index]
        update, moments = self.direction(index, gradient, moments, step)
        if not self.excluded[index]:
            update += self.weight_decay_rate * weight
        return update, moments

    def direction(self, index, gradient, moments, step):
        """Computes the step's direction, before decay and scaling, and new moments.

        Args:
            index: the weight's index, for which `build` can store facts.
            gradient: a tensor of the weight's shape and dtype.
            moments: `{name: value before the step}` for `moments_of(index)`, of the
                same shape.
            step: the number of earlier steps.
        """
        raise NotImplementedError

    def trust_ratio(self, weight, update):
        """Returns the factor for the update of a variable that is not excluded."""
        return 1.0

    def get_config(self):
        own = {name: getattr(self, name) for name in self.own_arguments}
        return {**super().get_config(), **own}


def _factor(variable, factors):
    found = [factors.get(part) for part in variable.path.split("/")]
    return next((factor for factor in found if factor is not None), 1.0)
