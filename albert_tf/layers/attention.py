"""The attention sublayer of a transformer block."""

import functools

import keras
from keras import ops

from albert_tf.layers.dropout import dropout
from albert_tf.layers.positions import rotated
from albert_tf.layers.sublayer import Sublayer
from albert_tf.layers.view import asking

_PROBABILITIES_SITE = 0
_OUTPUT_SITE = 1


@keras.saving.register_keras_serializable(package="albert_tf")
class SelfAttention(Sublayer):
    """Multi-head self-attention, with dropout, residual and layer norm.

    Official `attention_ffn_block`, up to the first layer norm. Query, key and
    value are separate variables, as in the checkpoints. The softmax is computed
    in float32.

    Args:
        config: an `AlbertConfig`.

    Call: hidden `[batch, tokens, hidden]`, `view`, the `View` of the block, `seed`
    int32 `[2]` of the block or None for inference, to `[batch, tokens, hidden]`; with a
    view `of_rows`, to the tokens picked, `[batch, outputs, hidden]`. With
    `recompute` (`rematerialization.recompute`), the probabilities are not kept for the
    gradient. `adapters`: of the block, by projection; see `DepthAdapters.of_block`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.query = self._projection(config.hidden_size, "query")
        self.key = self._projection(config.hidden_size, "key")
        self.value = self._projection(config.hidden_size, "value")
        self.output_dense = self._output_projection()
        self.layer_norm = self._norm()

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

    def call(self, hidden, view, seed=None, recompute=None, adapters=None):
        residual = asking(hidden, view)
        inputs = self._inputs(hidden)
        attending = inputs if view.pick is None else self._inputs(residual)
        output = self.project(inputs, attending, view, seed, recompute, adapters or {})
        return self._sum(residual, output, seed, _OUTPUT_SITE)

    def project(self, hidden, attending, view, seed, recompute, adapters):
        """Computes the projections and all between them; an export may replace this.

        Args:
            hidden: `[batch, tokens, hidden]`, to which tokens attend.
            attending: the tokens that do, `[batch, outputs, hidden]`.
            view, seed, recompute, adapters: as of the call.

        Returns:
            `[batch, outputs, hidden]`.
        """
        query, key = self._query_and_key(hidden, attending, view, adapters)
        value = self.value(hidden, adapter=adapters.get("value"))
        value = self._split_heads(value, hidden)
        attend = functools.partial(self._attend, bias=view.bias, seed=seed)
        if recompute is not None:
            config = self.config
            # Dropout draws one mask for all heads.
            drops = seed is not None and config.attention_probs_dropout_prob > 0
            parts = 1 if drops else min(2, config.num_attention_heads)
            attend = functools.partial(recompute, attend, axis=2, parts=parts)
        context = attend(query, key, value)  # [B, T, N, D]
        context = ops.reshape(context, ops.shape(attending))
        return self.output_dense(context, adapter=adapters.get("output_dense"))

    def probabilities(self, hidden, view, adapters=None):
        """Returns how much each token attends to each, before dropout.

        Args:
            hidden: `[batch, tokens, hidden]`, the input of the block.
            view, adapters: as of the call.

        Returns:
            float32 `[batch, heads, tokens, tokens]`; rows sum to 1.
        """
        inputs = self._inputs(hidden)
        query, key = self._query_and_key(inputs, inputs, view, adapters or {})
        return _softmax(query, key, view.bias)

    def _query_and_key(self, hidden, attending, view, adapters):
        """Returns both `[B, T, N, D]`, turned where positions are rotary."""
        # Scaling the query costs less than scaling the scores, and keeps float16
        # scores in range.
        query = self.query(attending, adapter=adapters.get("query"))
        query = self._split_heads(query * self.config.head_size**-0.5, attending)
        key = self.key(hidden, adapter=adapters.get("key"))
        key = self._split_heads(key, hidden)
        if view.key_turns is None:
            return query, key
        return rotated(query, view.query_turns), rotated(key, view.key_turns)

    def _attend(self, query, key, value, bias, seed):
        """Returns the context of queries, keys and values, all `[B, T, N, D]`."""
        probabilities = dropout(
            ops.cast(_softmax(query, key, bias), value.dtype),
            self.config.attention_probs_dropout_prob,
            seed,
            _PROBABILITIES_SITE,
        )
        return ops.einsum("bnqk,bknd->bqnd", probabilities, value)

    def _split_heads(self, projected, inputs):
        # The shape of the inputs: it does not have to wait for the product, and
        # tf2onnx loses the product's shape.
        batch, tokens, _ = ops.shape(inputs)
        heads = (self.config.num_attention_heads, self.config.head_size)
        return ops.reshape(projected, (batch, tokens, *heads))  # [B, T, N, D]


def _softmax(query, key, bias):
    scores = ops.einsum("bqnd,bknd->bnqk", query, key)  # [B, N, T, T]
    return ops.softmax(ops.cast(scores, "float32") + bias)
