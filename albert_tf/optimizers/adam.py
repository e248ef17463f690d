"""AdamW and LAMB as in the official code."""

import math

import keras
from keras import ops

from albert_tf.optimizers.moments import MomentsOptimizer


@keras.saving.register_keras_serializable(package="albert_tf")
class AdamW(MomentsOptimizer):
    """AdamW without bias correction; official `AdamWeightDecayOptimizer`.

    m and v average the gradient and its square; the step's direction is `m / (sqrt(v) +
    epsilon)` plus the decay. The first step is therefore `0.1 / sqrt(0.001) = 3.16`
    times the learning rate.

    Args:
        learning_rate: a float or a schedule.
        weight_decay_rate: decay, except of biases and normalization parameters.
        beta_1: rate of the first moment's average.
        beta_2: rate of the second moment's average.
        epsilon: added outside the square root.
        bias_correction: divide the moments by `1 - beta ** t`, as Adam's paper does
            and the official code does not.
        **kwargs: arguments of `MomentsOptimizer`.
    """

    moment_names = ("first_moments", "second_moments")
    own_arguments = (
        *MomentsOptimizer.own_arguments,
        *("beta_1", "beta_2", "epsilon", "bias_correction"),
    )

    def __init__(
        self,
        learning_rate=0.001,
        weight_decay_rate=0.01,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=False,
        **kwargs,
    ):
        super().__init__(learning_rate, weight_decay_rate, **kwargs)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.bias_correction = bias_correction

    def direction(self, index, gradient, moments, step):
        m = self.beta_1 * moments["first_moments"] + (1.0 - self.beta_1) * gradient
        v = self.beta_2 * moments["second_moments"] + (1.0 - self.beta_2) * ops.square(
            gradient
        )
        m_hat, v_hat = m, v
        if self.bias_correction:
            steps = ops.cast(step, m.dtype) + 1.0
            m_hat = m / _bias_correction(self.beta_1, steps)
            v_hat = v / _bias_correction(self.beta_2, steps)
        direction = m_hat / (ops.sqrt(v_hat) + self.epsilon)
        return direction, {"first_moments": m, "second_moments": v}


def _bias_correction(beta, steps):
    """Computes `1 - beta ** steps`, exact in float32.

    The plain difference would be off by 1.3e-5 at the first step with a beta of 0.999,
    and the update by half of that.
    """
    if not beta:
        return ops.ones_like(steps)
    return -ops.expm1(steps * math.log(beta))


@keras.saving.register_keras_serializable(package="albert_tf")
class LAMB(AdamW):
    """LAMB (You et al., arXiv 1904.00962) as in the official `lamb_optimizer.py`.

    AdamW's update of a variable, weight decay included, is scaled by the trust ratio
    `norm(w) / norm(update)`, both over the whole variable and 1 where either is 0.
    Biases and normalization parameters are neither decayed nor scaled. The arguments
    are `AdamW`'s.
    """

    adapts = True

    def trust_ratio(self, weight, update):
        weight_norm = _norm(weight)
        update_norm = _norm(update)
        both = ops.logical_and(weight_norm > 0, update_norm > 0)
        safe_norm = ops.where(both, update_norm, ops.ones_like(update_norm))
        return ops.where(both, weight_norm / safe_norm, ops.ones_like(weight_norm))


def _norm(values):
    # Keras only has norms of vectors and matrices.
    return ops.norm(values if len(values.shape) < 3 else ops.reshape(values, (-1,)))
