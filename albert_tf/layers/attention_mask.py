"""Masks and positions for attention: its inputs beside the hidden states."""

import dataclasses
import typing

from keras import ops

from albert_tf.layers.local_attention import MASKED_SCORE
from albert_tf.layers.local_attention import blocks_bias
from albert_tf.layers.local_attention import has_blocks
from albert_tf.layers.relative_positions import rows_of_distances


@dataclasses.dataclass(frozen=True)
class AttentionMask:
    """Mask and positions of a batch, for the attention of all blocks.

    Q is the number of tokens that attend: all of them, or the ones that `pick` takes.

    Attributes:
        bias: float32 `[batch or 1, heads or 1, 1 or Q, tokens]`, added to the scores:
            0, or -10000 for a key that is padding or in another pair.
        window: tokens of local blocks see those at most half of it away; None if all
            blocks are global.
        global_every: the blocks 0, n, 2 n, … are global; read with `window`.
        is_local: whether the mask is a local block's, a bool or bool scalar; see
            `of_block`.
        query_places: int32 `[batch or 1, Q, 1]`, where the attending tokens stand in
            the row; None without a window.
        blocks_bias: the `local_attention.blocks_bias`; None if tokens are picked or
            rows are too short for it.
        positions: int32 `[batch, tokens]`, counted from the first token of each pair;
            None if a row holds one pair.
        key_turns, query_turns: the `rotation` of all tokens and of the attending ones,
            `[batch or 1, tokens or Q, head size]`; None for learned positions.
        local_key_turns, local_query_turns: the same in local blocks; None if they do
            not differ.
        rows: the `rows_of_distances`, int32 `[batch or 1, Q, tokens]`, and vectors, of
            these distances, `[distances, hidden]`; None without disentangled positions.
        pick: the argument of `of_rows`; None if all tokens attend.
    """

    bias: typing.Any
    window: int | None = None
    global_every: int = 1
    is_local: typing.Any = False
    query_places: typing.Any = None
    blocks_bias: typing.Any = None
    positions: typing.Any = None
    key_turns: typing.Any = None
    query_turns: typing.Any = None
    local_key_turns: typing.Any = None
    local_query_turns: typing.Any = None
    rows: typing.Any = None
    vectors: typing.Any = None
    pick: typing.Any = None

    def of_rows(self, pick):
        """Returns the mask for a block that computes only some tokens.

        `pick` maps `[batch or 1, tokens, width]` to `[batch or 1, outputs, width]`.
        """
        names = ("query_places", "query_turns", "local_query_turns", "rows")
        found = {name: getattr(self, name) for name in names}
        return dataclasses.replace(
            self,
            **{name: None if v is None else pick(v) for name, v in found.items()},
            bias=_picked(self.bias, pick),
            blocks_bias=None,
            pick=pick,
        )

    def of_examples(self, numbers):
        """Returns the mask of the examples `numbers`, int32 `[examples]`.

        Each row must hold one pair.
        """
        return dataclasses.replace(
            self,
            bias=_taken(self.bias, numbers),
            blocks_bias=_taken(self.blocks_bias, numbers),
        )

    def of_block(self, i):
        """Returns the local or global mask of block `i`, an int or int32 scalar."""
        if self.window is None:
            return self
        is_local, own = i % self.global_every != 0, {}
        for name in ("key_turns", "query_turns"):
            everywhere, local = getattr(self, name), getattr(self, f"local_{name}")
            if local is None:
                continue
            if isinstance(i, int):
                own[name] = local if is_local else everywhere
            else:
                own[name] = ops.where(is_local, local, everywhere)
        return dataclasses.replace(self, is_local=is_local, **own)

    def local_bias(self, bias):
        """Adds the window to a bias, for scores of all tokens."""
        return bias + window_bias(self.query_places, ops.shape(bias)[3], self.window)


def attention_mask_of(config, input_mask, pair_ids=None):
    """Makes the `AttentionMask` of a batch.

    Args:
        config: an `AlbertConfig`.
        input_mask: `[batch, tokens]`, 1 for a token and 0 for padding.
        pair_ids: int32 `[batch, tokens]`, equal for the tokens of a pair, if a row
            holds several pairs, which do not see each other.
    """
    bias, positions = key_bias(input_mask), None
    turns = local_turns = None
    if pair_ids is not None:
        bias = bias + pair_bias(pair_ids)  # [B, 1, T, T]
        positions = positions_in_pair(pair_ids)
    tokens, window = ops.shape(input_mask)[1], config.local_attention_window
    query_places = in_blocks = None
    if window is not None:
        query_places = ops.expand_dims(ops.arange(tokens, dtype="int32"), (0, 2))
        if has_blocks(config, input_mask.shape[1]):
            in_blocks = blocks_bias(config, input_mask, pair_ids)
    if config.position_embedding_type == "rotary":
        places = positions
        if places is None:
            places = ops.expand_dims(ops.arange(tokens, dtype="int32"), 0)
        turns = rotation(places, config.head_size, config.rotary_base)
        if config.local_rotary_base != config.rotary_base:
            local_turns = rotation(places, config.head_size, config.local_rotary_base)
    return AttentionMask(
        bias=bias,
        window=window,
        query_places=query_places,
        blocks_bias=in_blocks,
        global_every=config.global_attention_every,
        positions=positions,
        key_turns=turns,
        query_turns=turns,
        local_key_turns=local_turns,
        local_query_turns=local_turns,
        rows=rows_of_distances(config, tokens) if config.is_disentangled else None,
    )


def query_tokens(hidden, attention_mask):
    """Returns the attending tokens of `hidden`, `[batch, tokens, width]`."""
    return hidden if attention_mask.pick is None else attention_mask.pick(hidden)


def key_bias(input_mask):
    """Computes the score bias for padding, float32 `[batch, 1, 1, tokens]`.

    It is 0 where `input_mask`, `[batch, tokens]`, is 1, and -10000 elsewhere. Only keys
    are masked: padded queries are computed and ignored (official
    `create_attention_mask_from_input_mask`).
    """
    padding = 1.0 - ops.cast(input_mask, "float32")
    # Not by indexing, which TensorFlow Lite does not support with four axes.
    return MASKED_SCORE * ops.expand_dims(padding, (1, 2))  # [B, 1, 1, T]


def pair_bias(pair_ids):
    """Computes the score bias between pairs, float32 `[batch, 1, tokens, tokens]`.

    It is 0 where two tokens have equal `pair_ids`, `[batch, tokens]`, and -10000
    elsewhere.
    """
    others = ops.cast(ops.logical_not(same_pair(pair_ids)), "float32")
    return MASKED_SCORE * others[:, None, :, :]  # [B, 1, T, T]


def window_bias(query_places, tokens, window):
    """Computes the score bias beyond a window, float32 `[batch or 1, 1, Q, tokens]`.

    It is 0 for tokens at most `window // 2` from the `query_places` of `AttentionMask`,
    and -10000 for others; `tokens` is an int or an int32 scalar.
    """
    columns = ops.arange(tokens, dtype="int32")
    far = ops.abs(ops.expand_dims(query_places, 1) - columns) > window // 2
    return MASKED_SCORE * ops.cast(far, "float32")


def _picked(bias, pick):
    if bias is None or bias.shape[2] == 1:
        return bias
    # Not by transposing, which tf2onnx turns into a wrong reshape for one head.
    heads = ops.unstack(bias, axis=1)  # of [B, T, T]
    return ops.stack([pick(rows) for rows in heads], axis=1)  # [B, heads, Q, T]


def _taken(bias, numbers):
    if bias is None or bias.shape[0] == 1:  # the same for all examples
        return bias
    return ops.take(bias, numbers, axis=0)


def same_pair(pair_ids):
    """Marks tokens with equal `pair_ids`: bool `[batch, tokens, tokens]`."""
    return ops.equal(pair_ids[:, :, None], pair_ids[:, None, :])  # [B, T, T]


def positions_in_pair(pair_ids):
    """Counts each token's distance from its pair's first: int32 `[batch, tokens]`."""
    tokens = ops.shape(pair_ids)[1]
    positions = ops.arange(tokens, dtype="int32")  # [T]
    first = ops.min(ops.where(same_pair(pair_ids), positions, tokens), axis=-1)
    return positions - first  # [B, T]


def rotation(positions, head_size, base):
    """Computes cosines and sines of rotary positions (Su et al., arXiv 2104.09864).

    Positions int32 `[batch or 1, tokens]` become float32 `[batch or 1, tokens,
    head_size]`: half of them cosines, the other half sines. `base` is the longest
    period.
    """
    half = head_size // 2
    exponents = ops.arange(half, dtype="float32") / half
    angles = ops.expand_dims(ops.cast(positions, "float32"), 2)
    angles = angles * base**-exponents  # [B, T, D / 2]
    return ops.concatenate([ops.cos(angles), ops.sin(angles)], axis=-1)


def rotated(heads, turns):
    """Rotates queries or keys, so that their products depend only on distances.

    Element i rotates with element i + D/2, as in GPT-NeoX and transformers. `heads` and
    the result are `[batch, tokens, heads, head size]`; `turns` is the result of
    `rotation`. Angles and sums are float32 whatever the dtype of `heads`.
    """
    cosines, sines = ops.split(ops.expand_dims(turns, 2), 2, axis=-1)
    first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return ops.cast(ops.concatenate(turned, axis=-1), heads.dtype)


def gather_positions(sequence, positions):
    """Gathers tokens of `[batch, tokens, width]` at int32 `[batch, outputs]`.

    It looks up the flattened rows, because the gradient is one scatter, which XLA
    handles better than the gradient of `take_along_axis`. Returns `[batch, outputs,
    width]`.
    """
    batch, tokens, width = ops.shape(sequence)
    starts = ops.arange(batch, dtype="int32")[:, None] * tokens  # [B, 1]
    rows = ops.reshape(sequence, (batch * tokens, width))  # [B * T, width]
    return ops.take(rows, ops.cast(positions, "int32") + starts, axis=0)
