"""The feed-forward sublayer of a transformer block."""

import keras

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.dropout import dropout
from albert_tf.layers.layer_norm import LayerNorm

_OUTPUT_SITE = 2


@keras.saving.register_keras_serializable(package="albert_tf")
class FeedForward(ConfiguredLayer):
    """Two projections, residual and layer norm after it.

    Official `attention_ffn_block`, from the scope `ffn_1` on.

    Args:
        config: an `AlbertConfig`.

    Call: hidden `[batch, tokens, hidden]`, `seed` int32 `[2]` of the block or None
    for inference, to `[batch, tokens, hidden]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.intermediate = self._dense(config.intermediate_size, "intermediate")
        self.output_dense = self._dense(config.hidden_size, "output_dense")
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy, name="layer_norm")

    @property
    def projections(self):
        """The `Dense` layers, in the order of the call."""
        return [self.intermediate, self.output_dense]

    def build(self, input_shape=None):
        config = self.config
        self.intermediate.build((None, None, config.hidden_size))
        self.output_dense.build((None, None, config.intermediate_size))
        self.layer_norm.build((None, None, config.hidden_size))

    def call(self, hidden, seed=None):
        output = self.project(hidden)
        output = dropout(output, self.config.hidden_dropout_prob, seed, _OUTPUT_SITE)
        return self.layer_norm(keras.ops.add(hidden, output))

    def project(self, hidden):
        """Both projections, `[batch, tokens, hidden]`; an export may replace this."""
        activation = ACTIVATION_FUNCTIONS[self.config.hidden_act]
        return self.output_dense(activation(self.intermediate(hidden)))
