"""LAMB of the official code."""

import keras
from keras import ops

from albert_tf.optimizers.moments import MomentsOptimizer


@keras.saving.register_keras_serializable(package="albert_tf")
class LAMB(MomentsOptimizer):
    """LAMB (You et al., arXiv 1904.00962) as in the official `lamb_optimizer.py`.

    The update of a variable, weight decay included, is scaled by the trust ratio
    `norm(w) / norm(update)`, both over the whole variable and 1 where either is 0.
    Biases and normalization parameters are neither decayed nor scaled. The arguments
    are those of `MomentsOptimizer`.
    """

    adapts = True

    def adaptation(self, weight, update):
        weight_norm = ops.norm(ops.cast(weight, update.dtype))
        update_norm = ops.norm(update)
        both = ops.logical_and(weight_norm > 0, update_norm > 0)
        safe_norm = ops.where(both, update_norm, ops.ones_like(update_norm))
        return ops.where(both, weight_norm / safe_norm, ops.ones_like(weight_norm))
