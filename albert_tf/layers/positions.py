"""Positions of tokens in their texts, and rotations that tell attention of them."""

from keras import ops

_LONGEST_PERIOD = 10_000.0


def same_pair(pair_ids):
    """Returns bool `[batch, tokens, tokens]`: two tokens have equal `pair_ids`."""
    return ops.equal(pair_ids[:, :, None], pair_ids[:, None, :])  # [B, T, T]


def positions_in_pair(pair_ids):
    """Counts each token's distance from its pair's first: int32 `[batch, tokens]`."""
    tokens = ops.shape(pair_ids)[1]
    positions = ops.arange(tokens, dtype="int32")  # [T]
    first = ops.min(ops.where(same_pair(pair_ids), positions, tokens), axis=-1)
    return positions - first  # [B, T]


def rotation(positions, head_size):
    """Computes cosines and sines of rotary positions (Su et al., arXiv 2104.09864).

    Args:
        positions: int32 `[batch or 1, tokens]`.
        head_size: D, even.

    Returns:
        float32 `[batch or 1, tokens, head_size]`: D/2 cosines, and as many sines.
    """
    half = head_size // 2
    exponents = ops.arange(half, dtype="float32") / half
    angles = ops.expand_dims(ops.cast(positions, "float32"), 2)
    angles = angles * _LONGEST_PERIOD**-exponents  # [B, T, D / 2]
    return ops.concatenate([ops.cos(angles), ops.sin(angles)], axis=-1)


def rotated(heads, turns):
    """Turns queries or keys, so that their products depend on distances only.

    Element i turns with element i + D/2, as in GPT-NeoX and transformers. Angles and
    sums are float32 whatever the type of `heads`.

    Args:
        heads: `[batch, tokens, heads, head size]`.
        turns: the result of `rotation`.

    Returns:
        As `heads`, in shape and type.
    """
    cosines, sines = ops.split(ops.expand_dims(turns, 2), 2, axis=-1)
    first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return ops.cast(ops.concatenate(turned, axis=-1), heads.dtype)
