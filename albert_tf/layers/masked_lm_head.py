"""The masked language model head."""

import keras
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="albert_tf")
class MaskedLMHead(ConfiguredLayer):
    """Logits over the vocabulary (official `get_masked_lm_output`).

    The projection is the table of word embeddings with a bias of its own.

    Args:
        config: an `AlbertConfig`.

    Call: the encoder's output at the masked positions, `[batch, predictions, hidden]`,
    and `word_embeddings` `[vocabulary, embedding]`, to float32
    `[batch, predictions, vocabulary]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.transform = self._dense(config.embedding_size, "transform")
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy, name="layer_norm")

    @property
    def output_shape(self):
        """Shape of the logits, as `summary` of a model shows it."""
        return (None, None, self.config.vocab_size)

    def build(self, input_shape=None):
        config = self.config
        self.transform.build((None, None, config.hidden_size))
        self.layer_norm.build((None, None, config.embedding_size))
        self.output_bias = self._float32_weight(
            "output_bias", (config.vocab_size,), "zeros"
        )

    def call(self, hidden, word_embeddings):
        activation = ACTIVATION_FUNCTIONS[self.config.head_act]
        hidden = self.layer_norm(activation(self.transform(hidden)))  # [B, P, E]
        if self.variable_dtype == "bfloat16":
            # For inference only. Logits of 10 would be rounded by 0.03, and their
            # probabilities by a hundredth.
            hidden = ops.cast(hidden, "float32")
            word_embeddings = ops.cast(word_embeddings, "float32")
        logits = ops.matmul(hidden, ops.transpose(word_embeddings))  # [B, P, V]
        return ops.cast(logits, "float32") + self.output_bias
