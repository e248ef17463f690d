"""The feed-forward sublayer of XLNet."""

import keras

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.base import dropout
from albert_tf.layers.sublayers import FeedForward
from albert_tf.models.xlnet.layer import XLNetLayer

_OUTPUT_SITE = 2
_ACTIVATION_SITE = 3


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetFeedForward(XLNetLayer, FeedForward):
    """As `FeedForward`, with a dropout after the activation, too.

    Official `positionwise_ffn`.

    Args:
        config: an `XLNetConfig`.
    """

    def call(self, hidden, seed=None):
        config = self.config
        activation = ACTIVATION_FUNCTIONS[config.ff_activation]
        output = activation(self.intermediate(hidden))
        output = dropout(output, config.dropout, seed, _ACTIVATION_SITE)
        output = self.output_dense(output)
        output = dropout(output, config.dropout, seed, _OUTPUT_SITE)
        return self.layer_norm(keras.ops.add(hidden, output))
