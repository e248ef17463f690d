"""Steps on texts that all tokenizers in a graph share."""

import tensorflow as tf

from albert_tf.tokenization.normalization import CAPITAL_SIGMA
from albert_tf.tokenization.normalization import SIGMA
from albert_tf.tokenization.normalization import character_class

UTF8 = "UTF-8"


def single_spaces(text):
    """Returns `[batch]` texts with one space for each white space, none at the ends."""
    white_space = character_class(str.isspace)
    return tf.strings.strip(tf.strings.regex_replace(text, f"{white_space}+", " "))


def first_characters(text, count):
    """Returns the first `count` characters of texts `[batch]`, or all with None."""
    if count is None:
        return text
    return tf.strings.substr(text, 0, count, unit="UTF8_CHAR")


def lowered(text, one_by_one):
    """Returns texts `[batch]` as `normalization.lowered` does."""
    if one_by_one:
        text = tf.strings.regex_replace(text, CAPITAL_SIGMA, SIGMA)
    return tf.strings.lower(text, encoding="utf-8")
