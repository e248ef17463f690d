"""The attention sublayer of a transformer block."""

import functools

import keras
from keras import ops

from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.dropout import dropout
from albert_tf.layers.layer_norm import LayerNorm

_PROBABILITIES_SITE = 0
_OUTPUT_SITE = 1
# Large enough to zero a padded key, small enough for float16.
_MASKED_SCORE = -10000.0


@keras.saving.register_keras_serializable(package="albert_tf")
class SelfAttention(ConfiguredLayer):
    """Multi-head self-attention, residual and layer norm after it.

    Official `attention_ffn_block`, up to the first layer norm. Query, key and
    value are separate variables, as in the checkpoints. The softmax is computed
    in float32.

    Args:
        config: an `AlbertConfig`.

    Call: hidden `[batch, tokens, hidden]`, `attention_bias` float32
    `[batch, 1, 1 or tokens, tokens]` (see `key_bias` and `pair_bias`), `seed`
    int32 `[2]` of the block or None for inference, to `[batch, tokens, hidden]`; with
    `tokens_for_heads`, a function that picks tokens, from `[batch, tokens, width]` to
    `[batch, outputs, width]`, to what that gives for those, `[batch, outputs, hidden]`.
    With `recompute` (`rematerialization.recompute`), the probabilities are not kept
    for the gradient.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.query = self._dense(config.hidden_size, "query")
        self.key = self._dense(config.hidden_size, "key")
        self.value = self._dense(config.hidden_size, "value")
        self.output_dense = self._dense(config.hidden_size, "output_dense")
        self.layer_norm = LayerNorm(config, dtype=self.dtype_policy, name="layer_norm")

    @property
    def projections(self):
        """The `Dense` layers, in the order of the call.

        Keras finds them here when it saves a model: `model.weights.h5` holds query and
        value as `projections/dense` and `projections/dense_2`.
        """
        return [self.query, self.key, self.value, self.output_dense]

    def build(self, input_shape=None):
        shape = (None, None, self.config.hidden_size)
        self.query.build(shape)
        self.key.build(shape)
        self.value.build(shape)
        self.output_dense.build(shape)
        self.layer_norm.build(shape)

    def call(
        self, hidden, attention_bias, seed=None, tokens_for_heads=None, recompute=None
    ):
        config = self.config
        asking, output = self.project(
            hidden, attention_bias, seed, tokens_for_heads, recompute
        )
        output = dropout(output, config.hidden_dropout_prob, seed, _OUTPUT_SITE)
        return self.layer_norm(ops.add(asking, output))

    def project(
        self, hidden, attention_bias, seed=None, tokens_for_heads=None, recompute=None
    ):
        """All projections and what is between them; an export may replace this.

        Args:
            hidden, attention_bias, seed, tokens_for_heads, recompute: as of the call.

        Returns:
            The tokens that attend to those of `hidden`, and what it gives for them,
            both `[batch, outputs, hidden]`.
        """
        asking, attention_bias = tokens_that_ask(
            hidden, attention_bias, tokens_for_heads
        )
        query = self._scaled_query(asking)
        key = self._split_heads(self.key(hidden), hidden)
        value = self._split_heads(self.value(hidden), hidden)
        attend = functools.partial(
            self._attend, attention_bias=attention_bias, seed=seed
        )
        if recompute is not None:
            config = self.config
            # Dropout draws one mask for all heads.
            drops = seed is not None and config.attention_probs_dropout_prob > 0
            parts = 1 if drops else min(2, config.num_attention_heads)
            attend = functools.partial(recompute, attend, axis=2, parts=parts)
        context = attend(query, key, value)  # [B, T, N, D]
        return asking, self.output_dense(ops.reshape(context, ops.shape(asking)))

    def probabilities(self, hidden, attention_bias):
        """How much each token attends to each, before dropout.

        Args:
            hidden: `[batch, tokens, hidden]`, the input of the block.
            attention_bias: as of the call.

        Returns:
            float32 `[batch, heads, tokens, tokens]`; rows sum to 1.
        """
        key = self._split_heads(self.key(hidden), hidden)
        return self._softmax(self._scaled_query(hidden), key, attention_bias)

    def _scaled_query(self, hidden):
        # Scaling the query costs less than scaling the scores, and keeps float16
        # scores in range.
        return self._split_heads(
            self.query(hidden) * self.config.head_size**-0.5, hidden
        )

    def _softmax(self, query, key, attention_bias):
        scores = ops.einsum("bqnd,bknd->bnqk", query, key)  # [B, N, T, T]
        # Keras casts the arguments of a layer, the bias too, to the compute dtype.
        scores = ops.cast(scores, "float32") + ops.cast(attention_bias, "float32")
        return ops.softmax(scores)

    def _attend(self, query, key, value, attention_bias, seed):
        """The context `[B, T, N, D]` of queries, keys and values `[B, T, N, D]`."""
        probabilities = self._softmax(query, key, attention_bias)
        probabilities = dropout(
            ops.cast(probabilities, value.dtype),
            self.config.attention_probs_dropout_prob,
            seed,
            _PROBABILITIES_SITE,
        )
        return ops.einsum("bnqk,bknd->bqnd", probabilities, value)

    def _split_heads(self, projected, inputs):
        # The shape of the inputs: it does not have to wait for the product, and
        # tf2onnx loses that of the product.
        batch, tokens, _ = ops.shape(inputs)
        heads = (self.config.num_attention_heads, self.config.head_size)
        return ops.reshape(projected, (batch, tokens, *heads))  # [B, T, N, D]


def key_bias(input_mask):
    """What to add to the scores: 0 for a token, -10000 for padding.

    Args:
        input_mask: `[batch, tokens]`, 1 for a token and 0 for padding.

    Returns:
        float32 `[batch, 1, 1, tokens]`: only keys are masked, padded queries are
        computed and ignored (official `create_attention_mask_from_input_mask`).
    """
    padding = 1.0 - ops.cast(input_mask, "float32")
    # Not by indexing, which TensorFlow Lite does not have for four axes.
    return _MASKED_SCORE * ops.expand_dims(padding, (1, 2))  # [B, 1, 1, T]


def tokens_that_ask(hidden, attention_bias, tokens_for_heads):
    """The tokens that attend to those of `hidden`, and their part of the bias.

    Args: as of the call of `SelfAttention`.

    Returns:
        `[batch, outputs, hidden]`, and `[batch, 1, 1 or outputs, tokens]`.
    """
    if tokens_for_heads is None:
        return hidden, attention_bias
    if attention_bias.shape[2] != 1:
        rows = tokens_for_heads(attention_bias[:, 0])  # [B, K, T]
        attention_bias = ops.expand_dims(rows, 1)  # [B, 1, K, T]
    return tokens_for_heads(hidden), attention_bias


def pair_bias(pair_ids):
    """What to add to the scores where a row holds several pairs.

    Args:
        pair_ids: int32 `[batch, tokens]`, equal for the tokens of a pair.

    Returns:
        float32 `[batch, 1, tokens, tokens]`: 0 within a pair, -10000 across two.
    """
    others = ops.cast(ops.logical_not(same_pair(pair_ids)), "float32")
    return _MASKED_SCORE * others[:, None, :, :]  # [B, 1, T, T]


def same_pair(pair_ids):
    """Bool `[batch, tokens, tokens]`: whether two tokens have equal `pair_ids`."""
    return ops.equal(pair_ids[:, :, None], pair_ids[:, None, :])  # [B, T, T]
