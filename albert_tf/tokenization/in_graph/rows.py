"""Rows of a `RowLayout` inside a TensorFlow graph: padding, mask and segments.

Lengths and positions are of one integer dtype; B rows, T tokens, padding included.
"""

import tensorflow as tf


def numbers(width, lengths, layout):
    """Numbers the places of rows by their tokens, counted from 0.

    Padding has a number below 0, or one that is not less than the length.

    Args:
        width: T.
        lengths: `[B, 1]`, of the rows.
        layout: their `RowLayout`.

    Returns:
        `[B, T]`, or a shape that broadcasts to it.
    """
    places = tf.range(width)
    return places - (width - lengths) if layout.pads_left else places


def is_token(number, lengths):
    """Marks places that are no padding, by the result of `numbers`: bool `[B, T]`."""
    return (number >= 0) & (number < lengths)


def segments(number, lengths, first_lengths, layout):
    """Returns the segment of each place, int32 `[B, T]`.

    Args:
        number: the result of `numbers`.
        lengths: `[B, 1]`, of the rows.
        first_lengths: `[B, 1]`, tokens before the second text.
        layout: the `RowLayout`.
    """
    found = tf.cast(number >= first_lengths, tf.int32) * layout.second_segment
    if layout.cls_last:
        found = tf.where(number == lengths - 1, layout.cls_segment, found)
    return tf.where(is_token(number, lengths), found, layout.pad_segment)


def moved_right(values, lengths):
    """Rows that are padded after their tokens as rows that are padded before them.

    Args:
        values: `[B, T]`.
        lengths: int64 `[B, 1]`, of the rows.
    """
    width = tf.shape(values, tf.int64)[1]
    number = tf.range(width) - (width - lengths)
    # The padding comes round to the front.
    return tf.gather(values, number % tf.maximum(width, 1), batch_dims=1)
