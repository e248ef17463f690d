"""Stretches of texts in a graph, with no copy of a text for each of them.

B texts of C characters in all, one after the other; S stretches.
"""

import tensorflow as tf


def stretches(codes, first, last):
    """Cuts stretches of each text: ragged string `[B, (stretches)]`.

    Args:
        codes: ragged int32 `[B, (characters)]`, code points.
        first, last: ragged int32 or int64 `[B, (stretches)]`, in the text: the first
            character of each, and the one after its last.
    """
    begin = tf.gather(codes.row_starts(), first.value_rowids())
    starts, limits = (
        tf.cast(places.flat_values, tf.int64) + begin for places in (first, last)
    )
    places = tf.ragged.range(starts, limits)
    characters = tf.gather(codes.flat_values, places.flat_values)
    return first.with_flat_values(
        tf.strings.unicode_encode(places.with_flat_values(characters), "UTF-8")
    )


def text_numbers(codes, first, last):
    """Numbers stretches, alike for stretches that read the same: int64 `[S]`.

    Runs of 1, 2, 4, 8, ... characters are numbered from each place, so that the time
    depends on C, however many and however long the stretches are, and on the logarithm
    of the longest. Source: Karp, Miller and Rosenberg, "Rapid identification of
    repeated patterns in strings, trees and arrays" (1972).

    Args:
        codes: int32 `[C]`.
        first, last: int64 `[S]`, the first character, and the one after the last.
    """
    lengths = last - first
    powers = tf.constant([2**k for k in range(31)], tf.int64)
    level = tf.searchsorted(powers, lengths, side="right") - 1  # -1 for no character
    size = tf.size(codes, tf.int64)

    def noted(k, runs, heads, tails):
        """Notes the runs at both ends of stretches of 2**k to 2**(k + 1) characters."""
        behind = tf.clip_by_value(last - powers[k], 0, size)
        runs = tf.concat([runs, [0]], axis=0)
        return (
            tf.where(level == k, tf.gather(runs, first), heads),
            tf.where(level == k, tf.gather(runs, behind), tails),
        )

    def step(k, runs, heads, tails):
        # A run that reaches over the last character is of no use to anyone.
        shift = tf.minimum(powers[k], size)
        following = tf.concat([runs[shift:], tf.zeros([shift], tf.int64)], axis=0)
        runs = pair_numbers(runs, following)
        return k + 1, runs, *noted(k + 1, runs, heads, tails)

    top = tf.reduce_max(tf.concat([level, [0]], axis=0))
    runs, nothing = tf.cast(codes, tf.int64), tf.zeros_like(first)
    state = 0, runs, *noted(0, runs, nothing, nothing)
    shapes = tuple(map(tf.TensorShape, ([], [None], [None], [None])))
    _, _, heads, tails = tf.while_loop(
        lambda k, *_: k < top, step, state, shape_invariants=shapes
    )
    return pair_numbers(pair_numbers(heads, tails), lengths)


def pair_numbers(first, second):
    """Numbers pairs, int64 `[N]`, alike for the same pairs.

    Args:
        first, second: int64 `[N]`, from 0 to 2**31 - 1.
    """
    return tf.unique(first * 2**31 + second, out_idx=tf.int64)[1]
