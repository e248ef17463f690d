"""The attention of XLNet: by content, by relative position and by segment."""

import keras
from keras import ops

from albert_tf.layers.base import dropout
from albert_tf.layers.view import asking
from albert_tf.models.xlnet.layer import XLNetLayer
from albert_tf.models.xlnet.layer import XLNetNorm
from albert_tf.models.xlnet.positions import project_codes
from albert_tf.models.xlnet.positions import rel_shift
from albert_tf.models.xlnet.positions import shift_at

_PROBABILITIES_SITE = 0
_OUTPUT_SITE = 1
_MASKED_SCORE = -1e30


@keras.saving.register_keras_serializable(package="albert_tf")
class RelativeAttention(XLNetLayer):
    """Attention of both streams to memory and content, residual and norm after it.

    Official `two_stream_rel_attn` and `rel_multihead_attn`; both streams share all
    parameters. The projections have no biases. The softmax is computed in float32.

    Args:
        config: an `XLNetConfig`.

    Call: hidden `[batch, S + P, width]`, the content stream first; `view`, an
    `AttentionView`; `biases`, a dict of `r_w_bias`, `r_r_bias`, `r_s_bias` `[heads,
    head size]` and `seg_embed` `[2, heads, head size]`; `memory` `[batch, M, width]` or
    None; `seed` int32 `[2]` of the block or None for inference; to `[batch, S + P,
    width]`; with a view `of_rows`, to the rows picked.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = XLNetNorm(config, dtype=self.dtype_policy, name="layer_norm")

    def build(self, input_shape=None):
        config = self.config
        kernels = {
            name: self.add_weight(
                name=f"{name}_kernel",
                shape=(config.d_model, config.n_head, config.d_head),
                initializer=self._initializer(),
            )
            for name in "qkvor"
        }
        self.q_kernel = kernels["q"]
        self.k_kernel = kernels["k"]
        self.v_kernel = kernels["v"]
        self.o_kernel = kernels["o"]
        self.r_kernel = kernels["r"]
        self.layer_norm.build((None, None, config.d_model))

    def call(self, hidden, view, biases, memory=None, seed=None):
        keyed = _keyed(hidden, view, memory)
        attending = asking(hidden, view)
        probabilities = self._softmax(attending, keyed, view, biases)
        probabilities = ops.cast(probabilities, self.compute_dtype)
        rate = self.config.dropatt
        probabilities = dropout(probabilities, rate, seed, _PROBABILITIES_SITE)
        value = ops.einsum("bkw,wnd->bknd", keyed, self.v_kernel)
        context = ops.einsum("bnqk,bknd->bqnd", probabilities, value)
        output = ops.einsum("bqnd,wnd->bqw", context, self.o_kernel)
        if view.answers is not None:
            output *= ops.cast(view.answers, output.dtype)
        output = dropout(output, self.config.dropout, seed, _OUTPUT_SITE)
        return self.layer_norm(attending + output)

    def probabilities(self, hidden, view, biases):
        """Returns how much queries attend to keys, float32 `[batch, heads, Q, K]`.

        Before dropout, and without memory; the arguments are as of the call.
        """
        keyed = _keyed(hidden, view, None)
        return self._softmax(asking(hidden, view), keyed, view, biases)

    def _softmax(self, attending, keyed, view, biases):
        query = ops.einsum("bqw,wnd->bqnd", attending, self.q_kernel)
        key = ops.einsum("bkw,wnd->bknd", keyed, self.k_kernel)
        scores = ops.einsum("bqnd,bknd->bnqk", query + biases["r_w_bias"], key)
        keys = ops.shape(keyed)[1]
        scores += self._of_positions(query + biases["r_r_bias"], view, keys)
        if view.other_segments is not None:
            scores += _of_segments(query, view.other_segments, biases)
        scores = ops.cast(scores, "float32") * self.config.d_head**-0.5
        if view.hidden_keys is not None:
            hidden_keys = ops.expand_dims(view.hidden_keys, 1)
            scores = ops.where(hidden_keys, _MASKED_SCORE, scores)
        return ops.softmax(scores)

    def _of_positions(self, query, view, keys):
        """Computes scores `[B, N, Q, K]`.

        The whole content's scores lie side by side, and are moved at once.
        """
        tokens = view.tokens
        codes = ops.cast(view.codes, self.compute_dtype)
        codes = project_codes(codes, self.r_kernel, view.directions)
        batch = "" if view.directions is None else "b"
        scores = ops.einsum(f"bqnd,{batch}cnd->bnqc", query, codes)  # [B, N, Q, C]
        if view.pick is not None:
            return shift_at(scores, view.positions, tokens, keys)
        content = rel_shift(scores[:, :, :tokens], keys)
        if view.answers is None:
            return content
        targets = view.positions[:, tokens:]
        of_targets = shift_at(scores[:, :, tokens:], targets, tokens, keys)
        return ops.concatenate([content, of_targets], axis=2)


def _keyed(hidden, view, memory):
    """Returns what is attended to, `[batch, K, width]`."""
    content = hidden[:, : view.tokens]  # [B, S, W]
    return content if memory is None else ops.concatenate([memory, content], axis=1)


def _of_segments(query, other_segments, biases):
    """Computes scores `[B, N, Q, K]`, one of two values by equality of segments."""
    query = query + biases["r_s_bias"]
    scores = ops.einsum("bqnd,snd->bnqs", query, biases["seg_embed"])  # [B, N, Q, 2]
    is_other = ops.expand_dims(other_segments, 1)
    return ops.where(is_other, scores[..., 1:], scores[..., :1])
