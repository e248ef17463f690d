"""The sublayers of a transformer block: self-attention and feed-forward."""

import functools

import keras
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.activations import GATED_FUNCTIONS
from albert_tf.layers.attention_mask import query_tokens
from albert_tf.layers.attention_mask import rotated
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import dropout
from albert_tf.layers.base import truncated_normal
from albert_tf.layers.local_attention import attend_in_blocks
from albert_tf.layers.relative_positions import scores_of_distances
from albert_tf.layers.replaceable import replaceable

# Dropout sites in a block.
_PROBABILITIES_SITE = 0
_ATTENTION_SITE = 1
_FEED_FORWARD_SITE = 2
_DISTANCES_SITE = 3

# Rows of more tokens attend to all tokens in parts, for whose scores memory suffices.
_LONGEST_WHOLE = 1024
_PART = 512

_LARGEST_KERNEL_HEAD = 128  # of cuDNN's attention


class Sublayer(ConfiguredLayer):
    """Attention or feed-forward layer, with layer norm, dropout and residual.

    The norm applies to the sum, as in the official code (`config.norm` "post"), or to
    the function's input ("pre"; Xiong et al., arXiv 2002.04745). With "pre", nothing
    normalises the residual path, and the last projection of each function is
    initialised smaller, by one over the square root of the number of functions (GPT-2),
    so that the sum does not grow with depth. The function's input stays as it is if
    `layer_norm` is None.
    """

    part = None
    """The sublayer's name in `BIASED_PARTS`."""

    def _projection(self, units, name):
        return self._dense(units, name, use_bias=self.config.has_bias(self.part))

    def _output_projection(self):
        """Creates the output projection, `hidden_size` wide."""
        config = self.config
        initializer = None
        if config.norm == "pre":
            functions = 2 * config.num_hidden_layers * config.inner_group_num
            initializer = truncated_normal(config.initializer_range / functions**0.5)
        return self._dense(
            config.hidden_size,
            "output_dense",
            use_bias=config.has_bias(self.part),
            initializer=initializer,
        )

    def _inputs(self, hidden):
        """Returns the function's input for `hidden`, `[batch, tokens, hidden]`."""
        is_normed = self.config.norm == "pre" and self.layer_norm is not None
        return self.layer_norm(hidden) if is_normed else hidden

    def _sum(self, residual, output, seed, site):
        """Adds the function's result, after dropout at `site`, to the residual."""
        output = dropout(output, self.config.hidden_dropout_prob, seed, site)
        output = ops.add(residual, output)
        if self.config.norm == "pre":
            # `Dense` with bfloat16 variables returns float32.
            return ops.cast(output, self.compute_dtype)
        return self.layer_norm(output)


@keras.saving.register_keras_serializable(package="albert_tf")
class SelfAttention(Sublayer):
    """Multi-head self-attention, with dropout, residual and layer norm.

    Official `attention_ffn_block`, up to the first layer norm. Query, key and
    value are separate variables, as in the checkpoints. The softmax is computed
    in float32.

    Call: hidden `[batch, tokens, hidden]`, the block's `AttentionMask`, and the block's
    `seed`, int32 `[2]` or None for inference; returns `[batch, tokens, hidden]` or, if
    the mask is `of_rows`, `[batch, outputs, hidden]` for the picked tokens. `recompute`
    (`rematerialization.recompute`) does not keep the probabilities for the gradient.
    `adapters` are the block's, by projection; see `DepthAdapters.of_block`.

    Args:
        config: an `AlbertConfig`.
        is_normed: whether there is a layer norm.
    """

    own_arguments = ("is_normed",)
    part = "attention"

    def __init__(self, config, is_normed=True, **kwargs):
        super().__init__(config, **kwargs)
        self.is_normed = is_normed
        self.query = self._projection(config.hidden_size, "query")
        self.key = self._projection(config.hidden_size, "key")
        self.value = self._projection(config.hidden_size, "value")
        self.output_dense = self._output_projection()
        self.layer_norm = self._block_norm("layer_norm") if is_normed else None

    @property
    def projections(self):
        """The `Dense` layers, in the order of the call.

        Keras saves them under this attribute: `model.weights.h5` holds query and value
        as `projections/dense` and `projections/dense_2`.
        """
        return [self.query, self.key, self.value, self.output_dense]

    def build(self, input_shape=None):
        shape = (None, None, self.config.hidden_size)
        norms = [self.layer_norm] if self.is_normed else []
        for layer in (*self.projections, *norms):
            layer.build(shape)

    def call(self, hidden, attention_mask, seed=None, recompute=None, adapters=None):
        residual = query_tokens(hidden, attention_mask)
        inputs = self._inputs(hidden)
        attending = inputs if attention_mask.pick is None else self._inputs(residual)
        output = self.project(
            inputs, attending, attention_mask, seed, recompute, adapters or {}
        )
        return self._sum(residual, output, seed, _ATTENTION_SITE)

    def project(self, hidden, attending, attention_mask, seed, recompute, adapters):
        """Computes the projections and attention; an export may replace this method.

        The tokens `attending`, `[batch, outputs, hidden]`, attend to `hidden`, `[batch,
        tokens, hidden]`. Returns `[batch, outputs, hidden]`.
        """
        query, key = self._query_and_key(hidden, attending, attention_mask, adapters)
        value = self.value(hidden, adapter=adapters.get("value"))
        value = self._split_heads(value, hidden)
        bias = self._bias(query, key, attention_mask, adapters, seed)
        attend = self._function(attention_mask, bias, seed)
        # Recomputed attention passes no gradient to its bias.
        if recompute is not None and not self.config.is_disentangled:
            # Dropout draws one mask for all heads; a bias by head needs all heads, too.
            is_whole = self._drops(seed) or attention_mask.bias.shape[1] != 1
            parts = 1 if is_whole else min(2, self.config.num_attention_heads)
            attend = functools.partial(recompute, attend, axis=2, parts=parts)
        context = attend(query, key, value)  # [B, T, N, D]
        context = joined_heads(context, attending)
        return self.output_dense(context, adapter=adapters.get("output_dense"))

    def probabilities(self, hidden, attention_mask, adapters=None):
        """Computes attention probabilities for the block's input, before dropout.

        Returns:
            float32 `[batch, heads, tokens, tokens]`; rows sum to 1.
        """
        inputs = self._inputs(hidden)
        adapters = adapters or {}
        query, key = self._query_and_key(inputs, inputs, attention_mask, adapters)
        bias = self._bias(query, key, attention_mask, adapters)
        if attention_mask.window is not None:
            local = attention_mask.local_bias(bias)
            bias = ops.where(attention_mask.is_local, local, bias)
        return _softmax(query, key, bias)

    @property
    def _scale(self):
        """The factor of scores, of which disentangled ones are sums of three."""
        return (self.config.head_size * (1 + 2 * self.config.is_disentangled)) ** -0.5

    def _bias(self, query, key, attention_mask, adapters, seed=None):
        """Returns what is added to scores, `[batch, heads or 1, 1 or Q, tokens]`."""
        if attention_mask.rows is None:
            return attention_mask.bias
        vectors, config = attention_mask.vectors, self.config
        vectors = dropout(vectors, config.hidden_dropout_prob, seed, _DISTANCES_SITE)
        shape = (config.distances, config.num_attention_heads, config.head_size)
        query_of, key_of = (
            ops.reshape(layer(vectors, adapter=adapters.get(layer.name)), shape)
            for layer in (self.query, self.key)
        )
        query_of = query_of * self._scale
        scores = scores_of_distances(query, key, query_of, key_of, attention_mask.rows)
        return attention_mask.bias + ops.cast(scores, "float32")

    def _query_and_key(self, hidden, attending, attention_mask, adapters):
        """Returns query and key, `[B, T, N, D]`, rotated for rotary positions."""
        # Scaling the query costs less than scaling the scores, and keeps float16
        # scores in range.
        query = self.query(attending, adapter=adapters.get("query"))
        query = self._split_heads(query * self._scale, attending)
        key = self.key(hidden, adapter=adapters.get("key"))
        key = self._split_heads(key, hidden)
        if attention_mask.key_turns is None:
            return query, key
        return rotated(query, attention_mask.query_turns), rotated(
            key, attention_mask.key_turns
        )

    def _function(self, attention_mask, bias, seed):
        """Returns the function that attends: query, key, value to `[B, T, N, D]`."""
        is_local = attention_mask.is_local
        # In a loop over depth, where TensorFlow does not differentiate branches.
        is_in_loop = not isinstance(is_local, bool)
        if is_in_loop:
            bias = ops.where(is_local, attention_mask.local_bias(bias), bias)
        everywhere = functools.partial(self._attend, bias=bias, seed=seed)
        if attention_mask.window is None or is_in_loop:
            return everywhere
        tokens = ops.shape(attention_mask.query_places)[1]
        if is_local:
            return self._nearby(attention_mask, bias, seed, tokens)
        is_one_bias = bias.shape[1] == bias.shape[2] == 1
        is_tensorflow = keras.backend.backend() == "tensorflow"
        if self._drops(seed) or not is_one_bias or not is_tensorflow:
            return everywhere
        from albert_tf.layers.rematerialization import in_parts

        def attend(query, key, value, bias):
            return self._attend(query, key, value, ops.stop_gradient(bias), seed)

        def parts(*inputs):
            return in_parts(*inputs, bias, function=attend, size=_PART)

        return chosen(tokens > _LONGEST_WHOLE, parts, everywhere)

    def _nearby(self, attention_mask, bias, seed, tokens):
        """Returns the function of a local block, for a row of `tokens`."""

        def whole(*inputs):
            return self._attend(*inputs, attention_mask.local_bias(bias), seed)

        if attention_mask.blocks_bias is None:
            return whole
        drop = functools.partial(self._dropped, seed=seed)
        in_blocks = functools.partial(
            attend_in_blocks, bias=attention_mask.blocks_bias, drop=drop
        )
        return chosen(self.config.is_long(tokens), in_blocks, whole)

    def _drops(self, seed):
        return seed is not None and self.config.attention_probs_dropout_prob > 0

    def _dropped(self, probabilities, dtype, seed):
        rate = self.config.attention_probs_dropout_prob
        return dropout(ops.cast(probabilities, dtype), rate, seed, _PROBABILITIES_SITE)

    def _attend(self, query, key, value, bias, seed):
        """Attends: query, key, value and result are `[B, T, N, D]`."""
        if not self._drops(seed) and _is_one_kernel(query, key):
            shape = (ops.shape(query)[0], bias.shape[1], query.shape[1], key.shape[1])
            return ops.dot_product_attention(
                query,
                key,
                value,
                bias=ops.broadcast_to(bias, shape),
                scale=1.0,
                flash_attention=True,
            )
        probabilities = self._dropped(_softmax(query, key, bias), value.dtype, seed)
        return ops.einsum("bnqk,bknd->bqnd", probabilities, value)

    def _split_heads(self, projected, inputs):
        return split_heads(projected, inputs, self.config.num_attention_heads)


@replaceable
def split_heads(projected, inputs, heads):
    """Reshapes `[batch, tokens, hidden]` into `[batch, tokens, heads, head size]`."""
    # The shape comes from the inputs, because it need not wait for the product.
    batch, tokens, _ = ops.shape(inputs)
    return ops.reshape(projected, (batch, tokens, heads, projected.shape[2] // heads))


@replaceable
def joined_heads(context, attending):
    """Reverses `split_heads`, for the attending tokens, `[batch, outputs, hidden]`."""
    return ops.reshape(context, ops.shape(attending))


@replaceable
def chosen(condition, function, other):
    """Returns one of two functions, or one that asks the bool scalar when called."""
    if isinstance(condition, bool):
        return function if condition else other

    def call(*inputs):
        return ops.cond(condition, lambda: function(*inputs), lambda: other(*inputs))

    return call


def _is_one_kernel(query, key):
    """Returns whether cuDNN can compute this attention as one kernel.

    Keras reaches that kernel only on JAX. It supports neither float32 nor odd numbers
    of tokens.
    """
    return (
        keras.backend.standardize_dtype(query.dtype) in ("bfloat16", "float16")
        and _is_on_jax_and_gpu()
        and query.shape[1] % 2 == key.shape[1] % 2 == 0
        and query.shape[3] % 8 == 0
        and query.shape[3] <= _LARGEST_KERNEL_HEAD
    )


@functools.cache
def _is_on_jax_and_gpu():
    if keras.backend.backend() != "jax":
        return False
    import jax

    return jax.default_backend() == "gpu"


def _softmax(query, key, bias):
    scores = ops.einsum("bqnd,bknd->bnqk", query, key)  # [B, N, T, T]
    return ops.softmax(ops.cast(scores, "float32") + bias)


@keras.saving.register_keras_serializable(package="albert_tf")
class FeedForward(Sublayer):
    """Two projections, with dropout, residual and layer norm.

    Official `attention_ffn_block`, from the scope `ffn_1` on. If `config.hidden_act` is
    "geglu" or another gated one, the activation of a third projection, `gate`,
    multiplies the first (Shazeer, arXiv 2002.05202).

    Call: hidden `[batch, tokens, hidden]`, `seed` int32 `[2]` of the block or None
    for inference, to `[batch, tokens, hidden]`. `adapters` are the block's, by
    projection; see `DepthAdapters.of_block`.
    """

    part = "feed_forward"

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.intermediate = self._projection(config.intermediate_size, "intermediate")
        self.gate = None
        if config.is_gated:
            self.gate = self._projection(config.intermediate_size, "gate")
        self.output_dense = self._output_projection()
        self.layer_norm = self._block_norm("layer_norm")

    @property
    def projections(self):
        """The `Dense` layers, in the order of the call."""
        layers = self.intermediate, self.gate, self.output_dense
        return [layer for layer in layers if layer is not None]

    def build(self, input_shape=None):
        config = self.config
        self.intermediate.build((None, None, config.hidden_size))
        if self.gate is not None:
            self.gate.build((None, None, config.hidden_size))
        self.output_dense.build((None, None, config.intermediate_size))
        self.layer_norm.build((None, None, config.hidden_size))

    def call(self, hidden, seed=None, adapters=None):
        output = self.project(self._inputs(hidden), adapters or {})
        return self._sum(hidden, output, seed, _FEED_FORWARD_SITE)

    def project(self, hidden, adapters):
        """Computes `[batch, tokens, hidden]`; an export may replace this."""
        inner = self.intermediate(hidden, adapter=adapters.get("intermediate"))
        if self.gate is None:
            inner = ACTIVATION_FUNCTIONS[self.config.hidden_act](inner)
        else:
            gated = GATED_FUNCTIONS[self.config.hidden_act]
            gate = self.gate(hidden, adapter=adapters.get("gate"))
            inner = gated(gate, inner)
        return self.output_dense(inner, adapter=adapters.get("output_dense"))
