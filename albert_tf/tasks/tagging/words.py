"""The words of a raw text, split in order to be tagged, in Python and inside a graph.

White space separates words. A Chinese character is a word, and so is each punctuation
mark at the beginning or the end of the text between spaces: "(U.S., 北京)" has the
words ( U.S . , 北 京 ), "it's" is one.

In the graph: B texts, C characters and N words of them all, one text after the other.
"""

import re

import tensorflow as tf

from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.normalization import is_punctuation

_RUN = re.compile(rf"{CHINESE}|[^\s{CHINESE[1:-1]}]+")


def word_bounds(text):
    """Lists (first character, the one after the last) of each word."""
    bounds = []
    for run in _RUN.finditer(text):
        first, end = run.span()
        last = end
        while first < end and is_punctuation(text[first]):
            bounds.append((first, first + 1))
            first += 1
        while last > first and is_punctuation(text[last - 1]):
            last -= 1
        if last > first:
            bounds.append((first, last))
        bounds.extend((place, place + 1) for place in range(last, end))
    return bounds


def split_words(texts):
    """Splits texts into words, and finds their places.

    Args:
        texts: string `[B]`, valid UTF-8.

    Returns:
        words: ragged string `[B, (words)]`.
        starts, ends: int32 `[N]`, the first character of each word in its text and the
            one after its last.
    """
    characters = tf.strings.unicode_split(texts, "UTF-8")
    flat = characters.flat_values  # [C]
    is_first = _firsts(characters.row_splits, flat)
    is_space = tf.strings.regex_full_match(flat, character_class(str.isspace))
    is_alone = tf.strings.regex_full_match(flat, CHINESE)
    is_mark = tf.strings.regex_full_match(flat, character_class(is_punctuation))
    is_mark &= ~is_alone
    is_letter = ~(is_space | is_alone | is_mark)
    # What is not torn apart: up to the next space or Chinese character.
    run = tf.cumsum(tf.cast(is_first | is_space | is_alone, tf.int64))
    runs = tf.size(flat, tf.int64) + 1
    letters = tf.cast(is_letter, tf.int64)
    before = tf.cumsum(letters, exclusive=True)
    before -= tf.gather(tf.math.unsorted_segment_min(before, run, runs), run)
    total = tf.gather(tf.math.unsorted_segment_sum(letters, run, runs), run)
    is_alone |= is_mark & ((before == 0) | (before == total))
    is_inner = ~(is_space | is_alone)
    follows = tf.concat([[False], is_inner[:-1]], axis=0) & ~is_first
    begins = is_alone | (is_inner & ~follows)
    word = tf.cumsum(tf.cast(begins, tf.int64)) - 1  # of each character but spaces
    count = tf.reduce_sum(tf.cast(begins, tf.int64))
    kept = tf.boolean_mask(flat, ~is_space)
    of_words = tf.RaggedTensor.from_value_rowids(
        kept, tf.boolean_mask(word, ~is_space), count
    )
    words = tf.strings.reduce_join(of_words, axis=1)  # [N]
    text = tf.boolean_mask(characters.value_rowids(), begins)
    starts = tf.boolean_mask(tf.ragged.range(characters.row_lengths()).values, begins)
    ends = starts + of_words.row_lengths()
    words = tf.RaggedTensor.from_value_rowids(words, text, characters.nrows())
    return words, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)


def _firsts(row_splits, flat):
    """Returns bool `[C]`: the characters that are the first of their text."""
    count = tf.size(flat, tf.int64)
    begins = tf.boolean_mask(row_splits[:-1], row_splits[:-1] < count)
    marks = tf.math.unsorted_segment_sum(tf.ones_like(begins), begins, count)
    return marks > 0
