"""Factorised embeddings (paper, section 3.1)."""

import keras
from keras import ops

from albert_tf.layers.base import EMBEDDING_SITE
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import dropout


@keras.saving.register_keras_serializable(package="albert_tf")
class Embeddings(ConfiguredLayer):
    """Word, segment and position embeddings, summed and normalised at width E.

    Official `embedding_lookup` and `embedding_postprocessor`. The encoder maps the sum
    to the hidden size. With `config.position_embedding_type` "rotary", there is no
    position table, and attention rotates queries and keys instead; with a
    `config.type_vocab_size` of 0, there is no segment table.

    Call: `input_ids` and `segment_ids` int32 `[batch, tokens]`, `seed` int32 `[2]`
    or None for inference, `positions` int32 `[batch, tokens]` or None for 0, 1, …, to
    `[batch, tokens, embedding]`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = LayerNorm(
            config,
            use_bias=config.has_bias("norm", in_block=False),
            dtype=self.dtype_policy,
            name="layer_norm",
        )

    @property
    def output_shape(self):
        """Shape of the embeddings, as `summary` of a model shows it."""
        return (None, None, self.config.embedding_size)

    def build(self, input_shape=None):
        config = self.config
        rows = {"word_embeddings": config.vocab_size}
        if config.type_vocab_size:
            rows["token_type_embeddings"] = config.type_vocab_size
        if config.position_embedding_type == "learned":
            rows["position_embeddings"] = config.position_rows
        self.token_type_embeddings = self.position_embeddings = None
        for name, count in rows.items():
            setattr(self, name, self._weight(name, (count, config.embedding_size)))
        self.layer_norm.build((None, None, config.embedding_size))

    def call(self, input_ids, segment_ids, seed=None, positions=None):
        total = self._rows(self.word_embeddings, input_ids, input_ids)  # [B, T, E]
        if self.token_type_embeddings is not None:
            total = total + self._of_segments(segment_ids)
        if self.position_embeddings is not None:
            total = total + self._of_positions(positions, input_ids)
        embeddings = self.layer_norm(total)
        return dropout(
            embeddings, self.config.hidden_dropout_prob, seed, EMBEDDING_SITE
        )

    def _of_segments(self, segment_ids):
        # A product with one-hot rows, because the table has two rows, and the gradient
        # of a product is a product, whereas a lookup's is a scatter.
        if self.config.type_vocab_size == 1:
            # A second text has the only segment, too; its one-hot row would be zeros.
            segment_ids = ops.zeros_like(segment_ids)
        segments = ops.one_hot(
            segment_ids, self.config.type_vocab_size, dtype=self.compute_dtype
        )
        return ops.matmul(segments, self.token_type_embeddings)  # [B, T, E]

    def _of_positions(self, positions, input_ids):
        padding = self.config.padding_idx
        if padding is not None:
            if positions is None:
                positions = positions_after_padding(input_ids, padding)
            else:
                positions = positions + padding + 1
        if positions is None:
            return self.position_embeddings[: ops.shape(input_ids)[1]]  # [T, E]
        return self._rows(self.position_embeddings, positions, input_ids)  # [B, T, E]

    def _rows(self, table, indices, input_ids):
        """Looks up `[batch, tokens, embedding]`; RoBERTa's padding gets no gradient.

        The tables of fairseq and Hugging Face have no gradient at `padding_idx` either.
        """
        rows = ops.take(table, indices, axis=0)
        if not self.config.is_roberta:
            return rows
        # TensorFlow Lite adds an axis to numbers, but not to truth values.
        ids = ops.expand_dims(input_ids, -1)
        is_padding = ops.equal(ids, self.config.padding_idx)
        return ops.where(is_padding, ops.stop_gradient(rows), rows)


def positions_after_padding(input_ids, padding_idx):
    """Computes RoBERTa's positions, int32 `[batch, tokens]`.

    Tokens count from `padding_idx + 1`; padding, whose id is `padding_idx`, does not
    count and has that position. Source: `make_positions` of fairseq.
    """
    is_token = ops.cast(ops.not_equal(input_ids, padding_idx), "int32")
    return ops.cumsum(is_token, axis=1) * is_token + padding_idx
