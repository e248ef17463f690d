"""Finds the origins of prepared characters in the original text, in a graph.

These functions correspond to `sentencepiece_text_with_spans` and to the offsets in
`WordPieceTokenizer`. The rows of a batch are concatenated: C original characters, P
prepared ones.
"""

import tensorflow as tf


def whole_rows(rows, numbers):
    """Returns the row splits, int64 `[B + 1]`, of rows whose items are repeated.

    Args:
        rows: int64 `[B + 1]`, the row splits of the items.
        numbers: int32 or int64 `[items]`, how often each item is repeated.
    """
    return tf.gather(starts_of(tf.cast(numbers, tf.int64)), rows)


def starts_of(lengths):
    """Returns the starts of consecutive stretches, and the end of the last one."""
    return tf.concat([[tf.zeros([], lengths.dtype)], tf.cumsum(lengths)], axis=0)


def spaced_origins(characters, is_space, kept_counts):
    """Finds the origin of each prepared character when spaces are collapsed.

    Args:
        characters: ragged string `[B, (characters)]`, the original ones.
        is_space: bool `[C]`.
        kept_counts: int64 `[C]`, how many characters each one becomes; 0 for spaces.

    Returns:
        space_before: bool `[C]`, True if a space stands before a kept character.
        starts, ends: int64 `[P]`, in the row's original text, including dropped
            combining marks after the character.
    """
    rows = characters.row_splits
    place = tf.ragged.range(characters.row_lengths()).values  # in its row
    after_space = tf.concat([[False], is_space[:-1]], axis=0) & (place > 0)
    is_kept = kept_counts > 0

    def before_in_row(numbers):
        before = starts_of(numbers)  # [C + 1]
        of_rows = tf.gather(before, rows[:-1])
        return before[:-1] - tf.repeat(of_rows, characters.row_lengths())

    # A mark before it, of which nothing is kept, is no reason to drop a space.
    is_not_first = before_in_row(tf.cast(~is_space, tf.int64)) > 0
    space_before = after_space & ~is_space & is_not_first
    counts = kept_counts + tf.cast(space_before, tf.int64)
    first = starts_of(counts)[:-1]  # of what each becomes
    origin = tf.repeat(place, counts)  # [P]
    is_first = tf.range(tf.size(origin, tf.int64)) == tf.repeat(first, counts)
    is_space_itself = is_first & tf.repeat(space_before, counts)
    starts = tf.where(is_space_itself, origin - 1, origin)
    ends = starts + 1
    extends = ~is_space & ~is_kept & ~after_space & (before_in_row(counts) > 0)
    marks = tf.where(extends)[:, 0]
    target = tf.gather(first, marks) - 1
    ends = tf.tensor_scatter_nd_max(ends, target[:, None], tf.gather(place, marks) + 1)
    return space_before, starts, ends


def character_places(texts, *places):
    """Converts places in bytes to places in characters, over all texts.

    Args:
        texts: string `[N]`.
        *places: ragged `[N, (places)]`, in bytes, at borders of characters.

    Returns:
        For each of `places`, int64 of the shape of its `flat_values`, counted in the
        concatenated characters of all texts.
    """
    rows = starts_of(tf.cast(tf.strings.length(texts), tf.int64))[:-1]

    def in_a_row(of_rows):
        return tf.cast(of_rows.flat_values, tf.int64) + tf.repeat(
            rows, of_rows.row_lengths()
        )

    known = in_a_row(tf.strings.unicode_split_with_offsets(texts, "UTF-8")[1])
    return [
        tf.searchsorted(known, in_a_row(asked), side="left", out_type=tf.int64)
        for asked in places
    ]


def without(blank, starts, ends):
    """Moves the ends of stretches inwards, past blank characters.

    Args:
        blank: bool `[P]`.
        starts, ends: int64 of one shape; empty if everything is blank.
    """
    visible = tf.where(~blank)[:, 0]
    size = tf.size(blank, tf.int64)
    following = tf.concat([visible, [size]], axis=0)
    preceding = tf.concat([[tf.constant(-1, tf.int64)], visible], axis=0)

    def place(values):
        found = tf.searchsorted(visible, tf.reshape(values, [-1]), out_type=tf.int64)
        return tf.reshape(found, tf.shape(values))

    starts = tf.minimum(tf.gather(following, place(starts)), ends)
    ends = tf.maximum(tf.gather(preceding, place(ends)) + 1, starts)
    return starts, ends


def ragged(splits, *values):
    """Returns values int32 of all tokens, each as ragged `[batch, (tokens)]`."""
    return tuple(
        tf.RaggedTensor.from_row_splits(tf.cast(v, tf.int32), splits, validate=False)
        for v in values
    )


def stretches(codes, first, last):
    """Cuts stretches of each text: ragged string `[B, (stretches)]`.

    Args:
        codes: ragged int32 `[B, (characters)]`, code points.
        first, last: ragged int32 or int64 `[B, (stretches)]`, each stretch's first
            character in the text, and the character after its last.
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
    """Numbers stretches; equal texts get equal numbers: int64 `[S]`.

    It numbers the runs of 1, 2, 4, 8, ... characters from each place, so that the time
    depends only on C and the logarithm of the longest stretch. Source: Karp, Miller and
    Rosenberg, "Rapid identification of repeated patterns in strings, trees and arrays"
    (1972).

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
    """Numbers pairs, int64 `[N]`; equal pairs get equal numbers.

    Args:
        first, second: int64 `[N]`, from 0 to 2**31 - 1.
    """
    return tf.unique(first * 2**31 + second, out_idx=tf.int64)[1]
