"""Parts of the served answers of several tasks."""

import numpy as np
import tensorflow as tf

EXIT_LAYER = "exit_layer"
"""Name of the served output with the number of layers used, int32 `[batch]`."""


def at_least(features, count, axis=-1):
    """Pads a dict of tensors with zeros to `count` items along an axis."""

    def padded(values):
        missing = tf.maximum(count - tf.shape(values)[axis], 0)
        padding = [[0, 0]] * values.shape.rank
        padding[axis] = [0, missing]
        return tf.pad(values, padding)

    return {name: padded(values) for name, values in features.items()}


def require(condition, message):
    """Makes an operation that fails with `message` if a bool `[]` is false."""
    return tf.debugging.Assert(condition, [message])


def log_shares(probabilities):
    """Computes logits from probabilities, up to a constant; a probability may be 0."""
    tiny = np.finfo(np.float32).tiny
    return np.log(np.maximum(np.asarray(probabilities), tiny))


def rows_of(outputs, names):
    """Converts the outputs of a served row to a list of dicts of Python values.

    Args:
        outputs: the served outputs of one input, arrays or lists of the same length.
        names: maps each key of the dicts to the name of an output.
    """
    columns = [np.array(outputs[name], object).tolist() for name in names.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
