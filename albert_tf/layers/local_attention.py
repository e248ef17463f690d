"""Attention within a window that computes only what the window shows.

A row is cut into blocks of half a window. The tokens of a block attend to those of the
previous block, their own and the next, so that time and memory grow with the number of
tokens, not with its square.
"""

import numpy as np
from keras import ops

# Large enough to zero a padded key, small enough for float16.
MASKED_SCORE = -10000.0


def has_blocks(config, tokens):
    """Returns whether rows may be long enough to gain from blocks.

    Args:
        config: an `AlbertConfig`, with a window.
        tokens: of a row, None if any number.
    """
    # Distances are looked up for all pairs of tokens.
    if config.is_disentangled:
        return False
    return tokens is None or config.is_long(tokens)


def blocks_bias(config, input_mask, pair_ids=None):
    """Computes the bias of scores within blocks.

    Args:
        config: an `AlbertConfig`, with a window.
        input_mask, pair_ids: see `attention_mask_of`.

    Returns:
        Float32 `[batch, 1, blocks, size, 3 * size]`: 0 for the keys that a token sees,
        of its own block and the two beside it, at most -10000 for the others.
    """
    size, window = config.local_block, config.local_attention_window
    distances = np.arange(3 * size) - size - np.arange(size)[:, None]
    far = np.float32(np.abs(distances) > window // 2)  # [size, 3 * size]
    bias = far + 1.0 - _keys(input_mask, size)
    if pair_ids is not None:
        own = _blocks(_column(pair_ids), size)
        others = ops.not_equal(own, _keys(pair_ids, size))
        bias = bias + ops.cast(others, "float32")
    return MASKED_SCORE * bias


def attend_in_blocks(query, key, value, bias, drop):
    """Attends to the tokens of a window.

    Args:
        query, key, value: `[batch, tokens, heads, head size]`.
        bias: the `blocks_bias`.
        drop: a function of the probabilities, float32, and the dtype of the result,
            which weights the values.

    Returns:
        `[batch, tokens, heads, head size]`.
    """
    size, tokens = bias.shape[3], ops.shape(query)[1]
    query, key, value = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
    key, value = (_with_neighbours(_blocks(x, size)) for x in (key, value))
    scores = ops.einsum("bngqd,bngkd->bngqk", _blocks(query, size), key)
    weights = drop(ops.softmax(ops.cast(scores, "float32") + bias), value.dtype)
    context = ops.einsum("bngqk,bngkd->bngqd", weights, value)
    context = ops.reshape(
        context, (ops.shape(query)[0], value.shape[1], -1, value.shape[4])
    )
    return ops.transpose(context[:, :, :tokens], (0, 2, 1, 3))


def _keys(values, size):
    """Returns the values of the keys of blocks, `[batch, 1, blocks, 1, 3 * size]`."""
    return ops.swapaxes(_with_neighbours(_blocks(_column(values), size)), 3, 4)


def _column(values):
    """Makes a float32 `[batch, 1, tokens, 1]` of `[batch, tokens]`."""
    return ops.expand_dims(ops.cast(values, "float32"), (1, 3))


def _blocks(values, size):
    """Cuts `[batch, heads, tokens, width]`: `[batch, heads, blocks, size, width]`."""
    batch, heads, tokens, width = ops.shape(values)
    # Not `-tokens % size`, of which tf2onnx makes a negative number.
    more = (tokens + size - 1) // size * size - tokens
    values = ops.pad(values, ((0, 0), (0, 0), (0, more), (0, 0)))
    return ops.reshape(values, (batch, heads, -1, size, width))


def _with_neighbours(blocks):
    """Puts the previous block before each block, and the next behind it."""
    blocks = ops.pad(blocks, ((0, 0), (0, 0), (1, 1), (0, 0), (0, 0)))
    return ops.concatenate(
        [blocks[:, :, :-2], blocks[:, :, 1:-1], blocks[:, :, 2:]], axis=3
    )
