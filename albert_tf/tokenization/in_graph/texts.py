"""Operations on texts that all in-graph tokenizers share."""

import importlib

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tokenization.normalization import CAPITAL_SIGMA
from albert_tf.tokenization.normalization import SIGMA
from albert_tf.tokenization.normalization import character_class

UTF8 = "UTF-8"

# Control characters, which neither expressions nor lower case tell apart.
_SPELLINGS = {"\1": "\1\3", "\0": "\1\2"}


def tensorflow_text():
    """Returns the package tensorflow-text, which registers its operations.

    Raises:
        UserError: it is not installed; some systems have no wheel.
    """
    try:
        return importlib.import_module("tensorflow_text")
    except ImportError as error:
        raise UserError(
            f"Text inside a graph needs tensorflow-text ({error}); install it with pip "
            "install tensorflow-text, on a system that has it, or give token ids."
        ) from error


def single_spaces(text):
    """Collapses white space in texts `[batch]` to single spaces, none at the ends."""
    white_space = character_class(str.isspace)
    return tf.strings.strip(tf.strings.regex_replace(text, f"{white_space}+", " "))


def cut(text, pattern):
    """Cuts texts `[batch]` around matches: ragged string `[batch, (parts)]`.

    The matches are parts, too; no part is empty, and all of them joined are the text.
    """
    parts = tensorflow_text().regex_split(_spelt(text), pattern, pattern)
    return parts.with_flat_values(_spelt(parts.flat_values, back=True))


def _spelt(text, back=False):
    """Replaces U+0000, at which some operations end, by other characters, or back."""
    for pair in reversed(_SPELLINGS.items()) if back else _SPELLINGS.items():
        text = tf.strings.regex_replace(text, *(reversed(pair) if back else pair))
    return text


def first_characters(text, count):
    """Returns the first `count` characters of texts `[batch]`, or all with None."""
    if count is None:
        return text
    return tf.strings.substr(text, 0, count, unit="UTF8_CHAR")


def lowered(text, one_by_one):
    """Lowers texts `[batch]` like `normalization.lowered`."""
    if one_by_one:
        text = tf.strings.regex_replace(text, CAPITAL_SIGMA, SIGMA)
    return _spelt(tf.strings.lower(_spelt(text), encoding="utf-8"), back=True)
