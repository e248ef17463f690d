"""The embeddings of words, and the vector that stands for a word to predict."""

import keras
from keras import ops

from albert_tf.models.xlnet.layer import XLNetLayer


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetEmbeddings(XLNetLayer):
    """The table of words, which is also the output projection, and `mask_emb`.

    A factorised table (`config.embedding_size`) is multiplied by a mapping without
    bias, so that it is the same function as a whole table that is their product.

    Args:
        config: an `XLNetConfig`.

    Call: `input_ids` int32 `[batch, tokens]` to `[batch, tokens, width]`.
    """

    def build(self, input_shape=None):
        config = self.config
        self.word_embeddings = self.add_weight(
            name="word_embeddings",
            shape=(config.n_token, config.table_width),
            initializer=self._initializer(),
        )
        self.mapping_kernel = None
        if config.has_embedding_mapping:
            self.mapping_kernel = self.add_weight(
                name="mapping_kernel",
                shape=(config.table_width, config.d_model),
                initializer=self._initializer(),
            )
        # The official code gives it no initialiser, so this is TensorFlow's.
        self.mask_emb = self.add_weight(
            name="mask_emb",
            shape=(1, 1, config.d_model),
            initializer="glorot_uniform",
        )

    def call(self, input_ids):
        words = ops.take(self.word_embeddings, input_ids, axis=0)
        if self.mapping_kernel is not None:
            words = ops.matmul(words, self.mapping_kernel)
        return words

    def similarities(self, hidden):
        """Multiplies `[..., width]` by each word's embedding: `[..., words]`."""
        if self.mapping_kernel is not None:
            hidden = ops.matmul(hidden, ops.transpose(self.mapping_kernel))
        return ops.matmul(hidden, ops.transpose(self.word_embeddings))

    @property
    def output_shape(self):
        """Shape of the embeddings, as `summary` of a model shows it."""
        return (None, None, self.config.d_model)
