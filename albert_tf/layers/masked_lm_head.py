"""The masked language model head."""

import keras
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="albert_tf")
class MaskedLMHead(ConfiguredLayer):
    """Logits over the vocabulary at given positions (official `get_masked_lm_output`).

    The positions are gathered before the projection, and the projection is the
    table of word embeddings with a bias of its own.

    Args:
        config: an `AlbertConfig`.

    Call: `sequence_output` `[batch, tokens, hidden]`, `positions` int32
    `[batch, predictions]`, `word_embeddings` `[vocabulary, embedding]`, to float32
    `[batch, predictions, vocabulary]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.transform = self._dense(config.embedding_size, "transform")
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy, name="layer_norm")

    def build(self, input_shape=None):
        config = self.config
        self.transform.build((None, None, config.hidden_size))
        self.layer_norm.build((None, None, config.embedding_size))
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=(config.vocab_size,),
            initializer="zeros",
            autocast=False,
        )

    def call(self, sequence_output, positions, word_embeddings):
        hidden = gather_positions(sequence_output, positions)  # [B, P, H]
        activation = ACTIVATION_FUNCTIONS[self.config.hidden_act]
        hidden = self.layer_norm(activation(self.transform(hidden)))  # [B, P, E]
        logits = ops.matmul(hidden, ops.transpose(word_embeddings))  # [B, P, V]
        return ops.cast(logits, "float32") + self.output_bias


def gather_positions(sequence, positions):
    """Picks rows: `[batch, tokens, width]` at `[batch, predictions]`.

    A lookup in the flattened rows: its gradient is one scatter, which XLA handles
    better than that of `take_along_axis`.
    """
    batch, tokens, width = ops.shape(sequence)
    starts = ops.arange(batch, dtype="int32")[:, None] * tokens  # [B, 1]
    rows = ops.reshape(sequence, (batch * tokens, width))  # [B * T, width]
    return ops.take(rows, ops.cast(positions, "int32") + starts, axis=0)
