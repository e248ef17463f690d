"""The layers of XLNet: embeddings, relative attention, feed-forward and their stack."""

import keras
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.attention_mask import query_tokens
from albert_tf.layers.base import SITES_PER_BLOCK
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import dropout
from albert_tf.layers.base import fold_seed
from albert_tf.layers.sublayers import FeedForward
from albert_tf.layers.transformer_stack import TransformerStack
from albert_tf.xlnet.attention_mask import project_codes
from albert_tf.xlnet.attention_mask import rel_shift
from albert_tf.xlnet.attention_mask import shift_at
from albert_tf.xlnet.config import XLNetConfig

_MASKED_SCORE = -1e30
# Dropout sites in a block.
_PROBABILITIES_SITE = 0
_ATTENTION_SITE = 1
_FEED_FORWARD_SITE = 2
_ACTIVATION_SITE = 3
_RELATIVE_BIASES = ("r_w_bias", "r_r_bias", "r_s_bias")


class XLNetLayer(ConfiguredLayer):
    """A layer whose sizes come from an `XLNetConfig`.

    Args:
        config: an `XLNetConfig`.
    """

    config_class = XLNetConfig

    def _initializer(self):
        # Not truncated, unlike ALBERT's (official `xlnet.py`).
        return keras.initializers.RandomNormal(stddev=self.config.initializer_range)


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetNorm(XLNetLayer, LayerNorm):
    """`LayerNorm` for an `XLNetConfig`."""


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetEmbeddings(XLNetLayer):
    """The word table, which is also the output projection, and `mask_emb`.

    A factorised table (`config.embedding_size`) is multiplied by a mapping without
    bias; their product as a whole table would compute the same function.

    Args:
        config: an `XLNetConfig`.

    Call: `input_ids` int32 `[batch, tokens]` to `[batch, tokens, width]`.
    """

    def build(self, input_shape=None):
        config = self.config
        shape = (config.n_token, config.table_width)
        self.word_embeddings = self._weight("word_embeddings", shape)
        self.mapping_kernel = None
        if config.has_embedding_mapping:
            shape = (config.table_width, config.d_model)
            self.mapping_kernel = self._weight("mapping_kernel", shape)
        # The official code names no initialiser, so this is TensorFlow's default.
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
        """Multiplies `[..., width]` by every word's embedding: `[..., words]`."""
        if self.mapping_kernel is not None:
            hidden = ops.matmul(hidden, ops.transpose(self.mapping_kernel))
        return ops.matmul(hidden, ops.transpose(self.word_embeddings))

    @property
    def output_shape(self):
        """Shape of the embeddings, as `summary` of a model shows it."""
        return (None, None, self.config.d_model)


@keras.saving.register_keras_serializable(package="albert_tf")
class RelativeAttention(XLNetLayer):
    """Attention of both streams to memory and content, with residual and norm.

    Official `two_stream_rel_attn` and `rel_multihead_attn`; both streams share all
    parameters. The projections have no biases. The softmax is computed in float32.

    Args:
        config: an `XLNetConfig`.

    Call: hidden `[batch, S + P, width]`, the content stream first; `attention_mask`, a
    `TwoStreamMask`; `biases`, a dict of `r_w_bias`, `r_r_bias`, `r_s_bias` `[heads,
    head size]` and `seg_embed` `[2, heads, head size]`; `memory` `[batch, M, width]` or
    None; `seed` int32 `[2]` of the block or None for inference; to `[batch, S + P,
    width]`; if the mask is `of_rows`, to the rows picked.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = XLNetNorm(config, dtype=self.dtype_policy, name="layer_norm")

    def build(self, input_shape=None):
        config = self.config
        shape = (config.d_model, config.n_head, config.d_head)
        for name in ("q_kernel", "k_kernel", "v_kernel", "o_kernel", "r_kernel"):
            setattr(self, name, self._weight(name, shape))
        self.layer_norm.build((None, None, config.d_model))

    def call(self, hidden, attention_mask, biases, memory=None, seed=None):
        keyed = _keyed(hidden, attention_mask, memory)
        attending = query_tokens(hidden, attention_mask)
        probabilities = self._softmax(attending, keyed, attention_mask, biases)
        probabilities = ops.cast(probabilities, self.compute_dtype)
        rate = self.config.dropatt
        probabilities = dropout(probabilities, rate, seed, _PROBABILITIES_SITE)
        value = ops.einsum("bkw,wnd->bknd", keyed, self.v_kernel)
        context = ops.einsum("bnqk,bknd->bqnd", probabilities, value)
        output = ops.einsum("bqnd,wnd->bqw", context, self.o_kernel)
        if attention_mask.answers is not None:
            output *= ops.cast(attention_mask.answers, output.dtype)
        output = dropout(output, self.config.dropout, seed, _ATTENTION_SITE)
        return self.layer_norm(attending + output)

    def probabilities(self, hidden, attention_mask, biases):
        """Computes attention probabilities, float32 `[batch, heads, Q, K]`.

        They are before dropout and without memory; the arguments are the call's.
        """
        keyed = _keyed(hidden, attention_mask, None)
        return self._softmax(
            query_tokens(hidden, attention_mask), keyed, attention_mask, biases
        )

    def _softmax(self, attending, keyed, attention_mask, biases):
        query = ops.einsum("bqw,wnd->bqnd", attending, self.q_kernel)
        key = ops.einsum("bkw,wnd->bknd", keyed, self.k_kernel)
        scores = ops.einsum("bqnd,bknd->bnqk", query + biases["r_w_bias"], key)
        keys = ops.shape(keyed)[1]
        scores += self._of_positions(query + biases["r_r_bias"], attention_mask, keys)
        if attention_mask.other_segments is not None:
            scores += _of_segments(query, attention_mask.other_segments, biases)
        scores = ops.cast(scores, "float32") * self.config.d_head**-0.5
        if attention_mask.hidden_keys is not None:
            hidden_keys = ops.expand_dims(attention_mask.hidden_keys, 1)
            scores = ops.where(hidden_keys, _MASKED_SCORE, scores)
        return ops.softmax(scores)

    def _of_positions(self, query, attention_mask, keys):
        """Computes the scores of positions, `[B, N, Q, K]`.

        `rel_shift` moves the whole content stream's scores at once.
        """
        tokens = attention_mask.tokens
        codes = ops.cast(attention_mask.codes, self.compute_dtype)
        codes = project_codes(codes, self.r_kernel, attention_mask.directions)
        batch = "" if attention_mask.directions is None else "b"
        scores = ops.einsum(f"bqnd,{batch}cnd->bnqc", query, codes)  # [B, N, Q, C]
        if attention_mask.pick is not None:
            return shift_at(scores, attention_mask.positions, tokens, keys)
        content = rel_shift(scores[:, :, :tokens], keys)
        if attention_mask.answers is None:
            return content
        targets = attention_mask.positions[:, tokens:]
        of_targets = shift_at(scores[:, :, tokens:], targets, tokens, keys)
        return ops.concatenate([content, of_targets], axis=2)


def _keyed(hidden, attention_mask, memory):
    """Returns the states that queries attend to, `[batch, K, width]`."""
    content = hidden[:, : attention_mask.tokens]  # [B, S, W]
    return content if memory is None else ops.concatenate([memory, content], axis=1)


def _of_segments(query, other_segments, biases):
    """Computes the scores of segments, `[B, N, Q, K]`, by whether they are equal."""
    query = query + biases["r_s_bias"]
    scores = ops.einsum("bqnd,snd->bnqs", query, biases["seg_embed"])  # [B, N, Q, 2]
    is_other = ops.expand_dims(other_segments, 1)
    return ops.where(is_other, scores[..., 1:], scores[..., :1])


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetFeedForward(XLNetLayer, FeedForward):
    """`FeedForward` with a second dropout, after the activation.

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
        output = dropout(output, config.dropout, seed, _FEED_FORWARD_SITE)
        return self.layer_norm(keras.ops.add(hidden, output))


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetStack(XLNetLayer, TransformerStack):
    """All layers of XLNet; official `transformer_xl`.

    Layers share parameters as in `TransformerStack`. The stack holds the biases of
    relative attention and the segment embeddings, as in official checkpoints, one row
    per attention: layers that share attention share these, too. With `config.untie_r`
    off, all layers share one row of biases.

    Call: hidden `[batch, S + P, width]`, a `TwoStreamMask`, and `seed`, int32 `[2]` or
    None for inference; returns the outputs of `TransformerStack`, of both streams.
    """

    attention_class = RelativeAttention
    feed_forward_class = XLNetFeedForward

    def build(self, input_shape=None):
        super().build(input_shape)
        config = self.config
        head = (config.n_head, config.d_head)
        sets = len(self.attention)
        shape = (sets, *head) if config.untie_r else head
        for name in _RELATIVE_BIASES:
            setattr(self, name, self._weight(name, shape))
        self.seg_embed = self._weight("seg_embed", (sets, 2, *head))

    def _variables(self, blocks):
        own = [getattr(self, name) for name in (*_RELATIVE_BIASES, "seg_embed")]
        return [*super()._variables(blocks), *own]

    def _run_block(self, block, hidden, attention_mask, seed, index):
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        attention, feed_forward = self.attention[block[0]], self.feed_forward[block[1]]
        memories = attention_mask.memories
        hidden = attention(
            hidden,
            attention_mask=attention_mask,
            biases=self._biases(block[0]),
            memory=None if memories is None else memories[:, index],
            seed=seed,
        )
        return feed_forward(hidden, seed)

    def _probabilities(self, key, hidden, attention_mask, index):
        return self.attention[key].probabilities(
            hidden, attention_mask, self._biases(key)
        )

    def _biases(self, attention_key):
        row = list(self.attention).index(attention_key)
        biases = {name: getattr(self, name) for name in _RELATIVE_BIASES}
        if self.config.untie_r:
            biases = {name: bias[row] for name, bias in biases.items()}
        return {**biases, "seg_embed": self.seg_embed[row]}
