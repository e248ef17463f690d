"""Checks that numbers read from records lie in range, before they become int32.

TensorFlow's own checks come too late: a cast wraps 2**32 + 5 to 5, and XLA clips an
index that is outside its table instead of failing.
"""

import re

import tensorflow as tf

LARGEST_INT32 = 2**31 - 1
_IDS = ("input_ids", "masked_lm_ids")
_VALUE = r"\[([^\]]*)\]"
_FAILED = re.compile(rf"\[range (.+) (\d+) (\d+)\] {_VALUE} {_VALUE}")


def within(name, values, lowest, highest):
    """Passes numbers through that all lie in a range, in any shape.

    Args:
        name: their name in errors.
        values: int64 or float32 tensor.
        lowest, highest: int, the bounds, both of them allowed.

    Returns:
        `values`, as int32 if they are int64.

    Raises:
        tf.errors.InvalidArgumentError: a number is outside, or is none; see
            `out_of_range`. In a graph, the reader of the result gets the error.
    """
    in_range = tf.reduce_all((values >= lowest) & (values <= highest))
    found = [tf.reduce_min(values), tf.reduce_max(values)]
    # Not `tf.debugging.Assert`, which words its error in another way outside a graph.
    check = tf.raw_ops.Assert(
        condition=in_range, data=[f"range {name} {lowest} {highest}", *found]
    )
    with tf.control_dependencies([] if check is None else [check]):
        values = tf.identity(values)
    return tf.cast(values, tf.int32) if values.dtype == tf.int64 else values


def out_of_range(error):
    """Reads the finding of `within` from the error of TensorFlow that it became.

    Returns:
        The name, the first number that is outside as a str, and the bounds as ints;
        None for an error of something else.
    """
    match = _FAILED.search(str(error))
    if match is None:
        return None
    name, (lowest, highest) = match[1], map(int, match.group(2, 3))
    smallest, largest = match.group(4, 5)
    found = largest if float(smallest) >= lowest else smallest
    return name, found, lowest, highest


def sentence_on(input_file, error):
    """Writes a sentence for users on records with values that are not allowed.

    Args:
        input_file: the files that were read.
        error: the error of reading them: a `tf.errors.OpError`, or the
            `UnicodeDecodeError` that TensorFlow makes of the contents of a record
            which is no example.

    Returns:
        A str; None for an error of something else.
    """
    if isinstance(error, UnicodeDecodeError):
        return (
            f"{input_file} holds a record that is not an example; a file is damaged "
            "or of another kind: make it again."
        )
    found = out_of_range(error)
    if found is None:
        return None
    name, number, lowest, highest = found
    if name in _IDS:
        return (
            f"{input_file} holds the id {number}, but the model has vocab_size "
            f"{highest + 1} (ids 0 to {highest}); make the data with the model's "
            "vocabulary."
        )
    return (
        f"{input_file} holds {name} of {number}, expected {lowest} to {highest}; a "
        "file is damaged, or was made for something else: make it again."
    )
