"""LAMB of the official code."""

import keras
from keras import ops

from albert_tf.optimizers.adamw import AdamW


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
    # Keras has norms of vectors and matrices only.
    return ops.norm(values if len(values.shape) < 3 else ops.reshape(values, (-1,)))
