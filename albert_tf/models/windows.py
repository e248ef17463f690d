"""Examples of several rows: texts in windows, whose outputs are pooled, and lists."""

from keras import ops

from albert_tf.errors import UserError
from albert_tf.models.features import mask_of
from albert_tf.models.flags import WINDOW_POOLINGS

_LEAST = float("-inf")


def check_window_pooling(pooling):
    """Refuses a pooling that is neither None nor one of `WINDOW_POOLINGS`."""
    if pooling not in (None, *WINDOW_POOLINGS):
        raise UserError(
            f"window_pooling={pooling!r}: expected one of "
            f"{', '.join(WINDOW_POOLINGS)}, or None."
        )


def refuse_windows(pooling):
    """Refuses to save a model that pools windows for another program."""
    if pooling is not None:
        raise UserError(
            f"Only a model directory has a place for window_pooling={pooling!r}; save "
            "one, or load the model with window_pooling=None, which takes rows."
        )


def over_windows(features, compute, pooling):
    """Computes the outputs of all rows, and pools those of a text's windows.

    Args:
        features: the model's features by name, `[…, tokens]`, with windows on the last
            axis but one; spare rows are padding, with an `input_mask` of zeros.
        compute: maps features `[rows, tokens]` to outputs `[rows, …]`.
        pooling: one of `WINDOW_POOLINGS`, or None if no axis has windows.

    Returns:
        The outputs, `[…, outputs]`, without the axis of windows.
    """
    shape = ops.shape(features["input_ids"])
    if len(shape) == 2:
        return compute(features)
    rows = {n: ops.reshape(v, (-1, shape[-1])) for n, v in features.items()}
    is_window = ops.any(mask_of(rows) > 0, axis=1)  # [R]
    # Attention over nothing, or its mean, would be NaN.
    rows["input_mask"] = ops.where(is_window[:, None], mask_of(rows), 1)
    outputs = compute(rows)
    if pooling is None:
        return ops.reshape(outputs, (*shape[:-1], *outputs.shape[1:]))
    texts = ops.prod(ops.convert_to_tensor(shape[:-2]))
    outputs = ops.reshape(outputs, (texts, shape[-2], *outputs.shape[1:]))
    is_window = ops.reshape(is_window, (texts, shape[-2]))
    pooled = _pooled(outputs, is_window, pooling)
    return ops.reshape(pooled, (*shape[:-2], *outputs.shape[2:]))


def _pooled(outputs, is_window, pooling):
    """Pools `[texts, windows, …]` over the windows of each text; of none to 0."""
    axes = (1,) * (len(outputs.shape) - 2)
    kept = ops.reshape(is_window, (*ops.shape(is_window), *axes))
    if pooling == "max":
        found = ops.max(ops.where(kept, outputs, _LEAST), axis=1)
        return ops.where(ops.any(kept, axis=1), found, 0.0)
    shares = ops.cast(kept, outputs.dtype)
    return ops.sum(outputs * shares, axis=1) / ops.maximum(ops.sum(shares, axis=1), 1)
