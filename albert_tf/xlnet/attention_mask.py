"""Masks and positions for XLNet's attention: its inputs beside the hidden states.

One tensor holds the queries of both streams: the content stream, `[batch, S]`, then
the query stream, `[batch, P]`. The keys are the memory, `[batch, M]`, and the content.
Q is S + P, K is M + S. The distance from the key j to the query at place i of a segment
is `M + i - j`. Distance codes run from the greatest distance, K, downwards.
"""

import dataclasses
import functools
import operator
import typing

from keras import ops

from albert_tf.layers.attention_mask import gather_positions


@dataclasses.dataclass(frozen=True)
class TwoStreamMask:
    """Inputs of `RelativeAttention`; absent ones are None."""

    tokens: typing.Any  # S, an int or int32 scalar
    codes: typing.Any  # see `project_codes`
    directions: typing.Any  # see `project_codes`
    memories: typing.Any  # float32 `[batch, blocks, M, width]`
    positions: typing.Any  # int32 `[batch, Q]`, places of the queries in the segment
    # float32 `[batch, Q, 1]`, 0 for a padded prediction, which attends to nothing
    answers: typing.Any
    hidden_keys: typing.Any  # bool `[batch, Q, K]`: the query must not see the key
    other_segments: typing.Any  # bool `[batch, Q, K]`: segments of both differ
    pick: typing.Any = None  # the argument of `of_rows`; None if all queries attend

    def of_rows(self, pick):
        """Returns the mask for the queries that `pick` takes from `[batch, Q, ...]`."""
        names = ("positions", "answers", "hidden_keys", "other_segments")
        rows = {name: getattr(self, name) for name in names}
        picked = {n: None if row is None else pick(row) for n, row in rows.items()}
        return dataclasses.replace(self, pick=pick, **picked)


def two_stream_mask(features, tokens, memory_tokens, codes, directions):
    """Makes the `TwoStreamMask` of a call with S tokens and a memory of M."""
    batch = ops.shape(features["input_ids"])[0]
    places = ops.broadcast_to(ops.arange(tokens, dtype="int32"), (batch, tokens))
    targets, answers = features.get("target_positions"), None
    if targets is not None:
        targets = ops.cast(targets, "int32")
        real = ops.concatenate([ops.ones_like(places), targets >= 0], axis=1)
        answers = ops.expand_dims(ops.cast(real, "float32"), 2)
        targets = ops.maximum(targets, 0)
        places = ops.concatenate([places, targets], axis=1)
    return TwoStreamMask(
        tokens=tokens,
        codes=codes,
        directions=directions,
        memories=features.get("memories"),
        positions=places,
        answers=answers,
        hidden_keys=_hidden_keys(features, tokens, memory_tokens, targets),
        other_segments=_other_segments(features, memory_tokens, targets),
    )


def _hidden_keys(features, tokens, memory_tokens, targets):
    masks = []
    if features.get("perm_mask") is not None:
        masks.append(ops.cast(features["perm_mask"], "float32") > 0)  # [B, S, S]
    if features.get("query_order") is not None:
        query_order = ops.expand_dims(features["query_order"], 2)
        masks.append(query_order <= ops.expand_dims(features["key_order"], 1))
    if features.get("input_mask") is not None:
        input_mask = ops.cast(features["input_mask"], "float32")
        masks.append(ops.expand_dims(input_mask, 1) <= 0)
    if not masks:
        return None
    hidden = functools.reduce(operator.or_, masks)
    hidden = hidden & ops.ones((tokens, 1), dtype="bool")
    # A token of the content stream always sees itself, a padded one too.
    own = ops.arange(tokens, dtype="int32")
    others = ops.not_equal(own[:, None], own)  # ONNX Runtime has no `eye` of bool
    rows = hidden & others
    if targets is not None:
        rows = ops.concatenate([rows, gather_positions(hidden, targets)], axis=1)
    # Every query sees the whole memory.
    return ops.pad(rows, [[0, 0], [0, 0], [memory_tokens, 0]], constant_values=False)


def _other_segments(features, memory_tokens, targets):
    segments = features.get("segment_ids")
    if segments is None:
        return None
    segments = ops.cast(segments, "int32")
    # The memory counts as segment 0, whatever its segments were.
    of_keys = ops.pad(segments, [[0, 0], [memory_tokens, 0]])
    of_queries = segments
    if targets is not None:
        own = ops.expand_dims(segments, 2)
        of_targets = gather_positions(own, targets)[:, :, 0]
        of_queries = ops.concatenate([segments, of_targets], axis=1)
    # Not by slicing with new axes, which TensorFlow Lite does not support.
    return ops.not_equal(ops.expand_dims(of_queries, 2), ops.expand_dims(of_keys, 1))


def position_codes(keys, tokens, width, clamp_len):
    """Encodes the distances K to 1 - S: float32 `[keys + tokens, width]`.

    The first half of a code holds sines, the second cosines (official
    `positional_embedding`, which does not interleave them).

    Args:
        keys: K, an int or int32 scalar.
        tokens: S, the segment's length.
        width: the model's, even.
        clamp_len: if positive, the limit to which distances are clamped in both
            directions.
    """
    distances = keys - ops.arange(keys + tokens)
    distances = ops.cast(distances, "float32")
    if clamp_len > 0:
        distances = ops.clip(distances, -clamp_len, clamp_len)
    powers = ops.arange(0, width, 2, dtype="float32") / width
    frequencies = 1.0 / ops.power(10000.0, powers)
    angles = distances[:, None] * frequencies  # [K + S, width / 2]
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


def project_codes(codes, kernel, directions=None):
    """Computes the position keys of all heads.

    Args:
        codes: `[K + S, width]`.
        kernel: `[width, heads, head size]`.
        directions: `[batch]`, -1 for a row of reversed text, whose distances have the
            opposite sign, and 1 for other rows; None if no row is reversed.

    Returns:
        `[K + S, heads, head size]`; with `directions`, `[batch, K + S, heads, head
        size]`.
    """
    if directions is None:
        return ops.einsum("cw,wnd->cnd", codes, kernel)
    # Negating a distance negates only its sines.
    half = codes.shape[-1] // 2
    sines = ops.einsum("cw,wnd->cnd", codes[:, :half], kernel[:half])
    cosines = ops.einsum("cw,wnd->cnd", codes[:, half:], kernel[half:])
    signs = ops.cast(directions, sines.dtype)[:, None, None, None]
    return cosines + signs * sines


def rel_shift(scores, keys):
    """Moves each query's score for a distance to the key at that distance.

    Official `rel_shift`: for the query i, the key j has the code `S - i + j`. Reading
    the rows as one entry shorter shifts each row one entry further.

    Args:
        scores: `[batch, heads, S, K + S]`, for the queries 0 to S - 1.
        keys: K.

    Returns:
        `[batch, heads, S, K]`.
    """
    batch, heads, queries, codes = ops.shape(scores)
    scores = ops.reshape(scores, (batch, heads, codes, queries))
    scores = scores[:, :, 1:]
    scores = ops.reshape(scores, (batch, heads, queries, codes - 1))
    return scores[..., :keys]


def shift_at(scores, positions, tokens, keys):
    """Shifts scores like `rel_shift`, for queries at arbitrary places.

    Args:
        scores: `[batch, heads, queries, K + S]`.
        positions: int32 `[batch, queries]`, each query's place in the segment.
        tokens: S.
        keys: K.

    Returns:
        `[batch, heads, queries, K]`.
    """
    codes = ops.expand_dims(tokens - positions, 2) + ops.arange(keys)  # [B, Q, K]
    return ops.take_along_axis(scores, ops.expand_dims(codes, 1), axis=3)
