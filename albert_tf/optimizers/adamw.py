"""AdamW of the official code."""

import keras

from albert_tf.optimizers.moments import MomentsOptimizer


@keras.saving.register_keras_serializable(package="albert_tf")
class AdamW(MomentsOptimizer):
    """AdamW without bias correction; official `AdamWeightDecayOptimizer`.

    The first step is therefore `0.1 / sqrt(0.001) = 3.16` times the learning rate.
    The arguments are those of `MomentsOptimizer`.
    """
