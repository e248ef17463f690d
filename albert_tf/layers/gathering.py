"""Picking tokens out of sequences."""

from keras import ops


def gather_positions(sequence, positions):
    """Picks rows: `[batch, tokens, width]` at int32 `[batch, outputs]`.

    A lookup in the flattened rows: its gradient is one scatter, which XLA handles
    better than the gradient of `take_along_axis`.

    Returns:
        `[batch, outputs, width]`.
    """
    batch, tokens, width = ops.shape(sequence)
    starts = ops.arange(batch, dtype="int32")[:, None] * tokens  # [B, 1]
    rows = ops.reshape(sequence, (batch * tokens, width))  # [B * T, width]
    return ops.take(rows, ops.cast(positions, "int32") + starts, axis=0)
