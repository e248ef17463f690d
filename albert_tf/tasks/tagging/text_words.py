"""The words of a raw text, split in order to be tagged.

White space separates words. A Chinese character is a word, and so is each punctuation
mark at the beginning or the end of the text between spaces: "(U.S., 北京)" has the
words ( U.S . , 北 京 ), "it's" is one.
"""

import re

from albert_tf.tokenization.normalization import CHINESE
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
