"""Relative positions: the codes of distances, and the scores of each query and key.

A query at place i of a segment, with M tokens of memory before it, is `M + i - j` after
the key j. Codes are listed from the greatest distance, K = M + S, downwards.
"""

from keras import ops


def position_codes(keys, tokens, width, clamp_len):
    """Encodes the distances K to 1 - S: float32 `[keys + tokens, width]`.

    The first half of a code are sines, the second cosines (official
    `positional_embedding`, which is not interleaved).

    Args:
        keys: K, an int or int32 scalar.
        tokens: S, of the segment.
        width: of the model, even.
        clamp_len: distances beyond it are taken for it, in both directions, if it is
            greater than 0.
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
            other sign, and 1 for others; None if there are no such rows.

    Returns:
        `[K + S, heads, head size]`; with `directions`, `[batch, K + S, heads, head
        size]`.
    """
    if directions is None:
        return ops.einsum("cw,wnd->cnd", codes, kernel)
    # The other sign changes the sign of the sines only.
    half = codes.shape[-1] // 2
    sines = ops.einsum("cw,wnd->cnd", codes[:, :half], kernel[:half])
    cosines = ops.einsum("cw,wnd->cnd", codes[:, half:], kernel[half:])
    signs = ops.cast(directions, sines.dtype)[:, None, None, None]
    return cosines + signs * sines


def rel_shift(scores, keys):
    """Moves each score of a query and a code to the key at that distance.

    Official `rel_shift`: of the query i, the key j has the code `S - i + j`. Reading
    the rows one entry shorter moves each one entry further.

    Args:
        scores: `[batch, heads, S, K + S]`, of the queries 0 to S - 1.
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
    """Shifts scores as `rel_shift`, for queries at any places.

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
