"""Parts of the served answers of several tasks."""

import numpy as np
import tensorflow as tf

EXIT_LAYER = "exit_layer"
"""Name of the served number of layers that an answer took, int32 `[batch]`."""


def at_least(features, count, axis=-1):
    """Pads a dict of tensors with zeros to `count` items along an axis."""

    def padded(values):
        missing = tf.maximum(count - tf.shape(values)[axis], 0)
        padding = [[0, 0]] * values.shape.rank
        padding[axis] = [0, missing]
        return tf.pad(values, padding)

    return {name: padded(values) for name, values in features.items()}


def require(condition, message):
    """Makes an operation that fails with `message` where a bool `[]` is false."""
    return tf.debugging.Assert(condition, [message])


def log_shares(probabilities):
    """Computes logits of probabilities, up to a constant; one may have become 0."""
    tiny = np.finfo(np.float32).tiny
    return np.log(np.maximum(np.asarray(probabilities), tiny))


def rows_of(outputs, names):
    """Lists a served row's items, dicts of Python's numbers and strings.

    Args:
        outputs: the served outputs of one input, arrays or lists of the same length.
        names: by key of the dicts, the name of the output.
    """
    columns = [np.array(outputs[name], object).tolist() for name in names.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
