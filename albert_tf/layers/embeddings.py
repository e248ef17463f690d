"""Factorised embeddings (paper, section 3.1)."""

import keras
from keras import ops

from albert_tf.layers.attention import same_pair
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.configured_layer import truncated_normal
from albert_tf.layers.dropout import EMBEDDING_SITE
from albert_tf.layers.dropout import dropout
from albert_tf.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="albert_tf")
class Embeddings(ConfiguredLayer):
    """Word, segment and position embeddings, summed and normalised at width E.

    Official `embedding_lookup` and `embedding_postprocessor`. The mapping to the
    hidden size belongs to the encoder.

    Args:
        config: an `AlbertConfig`.

    Call: `input_ids` and `segment_ids` int32 `[batch, tokens]`, `seed` int32 `[2]`
    or None for inference, `pair_ids` int32 `[batch, tokens]` where positions start
    again with each pair or None, to `[batch, tokens, embedding]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy, name="layer_norm")

    @property
    def output_shape(self):
        """Shape of the embeddings, as `summary` of a model shows it."""
        return (None, None, self.config.embedding_size)

    def build(self, input_shape=None):
        config = self.config
        rows = {
            "word_embeddings": config.vocab_size,
            "token_type_embeddings": config.type_vocab_size,
            "position_embeddings": config.max_position_embeddings,
        }
        tables = {
            name: self.add_weight(
                name=name,
                shape=(count, config.embedding_size),
                initializer=truncated_normal(config.initializer_range),
            )
            for name, count in rows.items()
        }
        self.word_embeddings = tables["word_embeddings"]
        self.token_type_embeddings = tables["token_type_embeddings"]
        self.position_embeddings = tables["position_embeddings"]
        self.layer_norm.build((None, None, config.embedding_size))

    def call(self, input_ids, segment_ids, seed=None, pair_ids=None):
        tokens = ops.shape(input_ids)[1]
        words = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, T, E]
        # A product with one-hot rows: the table has two rows, and the gradient
        # of a product is a product, where that of a lookup is a scatter.
        segments = ops.one_hot(
            segment_ids, self.config.type_vocab_size, dtype=self.compute_dtype
        )
        segments = ops.matmul(segments, self.token_type_embeddings)  # [B, T, E]
        if pair_ids is None:
            positions = self.position_embeddings[:tokens]  # [T, E]
        else:
            positions = ops.take(
                self.position_embeddings, positions_in_pair(pair_ids), axis=0
            )  # [B, T, E]
        embeddings = self.layer_norm(words + segments + positions)
        return dropout(
            embeddings, self.config.hidden_dropout_prob, seed, EMBEDDING_SITE
        )


def positions_in_pair(pair_ids):
    """Int32 `[batch, tokens]`: how far each token is from the first of its pair."""
    tokens = ops.shape(pair_ids)[1]
    positions = ops.arange(tokens, dtype="int32")  # [T]
    first = ops.min(ops.where(same_pair(pair_ids), positions, tokens), axis=-1)
    return positions - first  # [B, T]
