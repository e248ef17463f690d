"""Regular expressions of texts that a tokenizer prepares alike."""

import collections
import functools
import re
import sys
import unicodedata

from albert_tf.tokenization.normalization import character_class

# The combining characters of European scripts; a class of all is too large for RE2.
_MARKS = "[\u0300-\u036f]*"


class Spellings:
    """Makes expressions that Python and RE2 read alike.

    Args:
        fold: from a text to the compared one, such as its letters in lower case.
    """

    def __init__(self, fold):
        self._fold = fold
        self._marks = "" if fold("\u0301") else _MARKS

    @functools.cached_property
    def _others(self):
        """Characters that `fold` changes, by their results."""
        others = collections.defaultdict(set)
        for character in _characters_that_change():
            others[self._fold(character)].add(character)
        return others

    def pattern(self, text):
        """Writes the expression of all texts that become the same as `text`."""
        return "".join(map(self._of_character, text))

    def _of_character(self, character):
        if character.isspace():
            return f"{character_class(str.isspace)}+"
        folded = self._fold(character)
        if not folded:
            return ""
        members = {character} | self._others.get(folded, set())
        if len(folded) == 1:
            members.add(folded)
        found = f"[{''.join(map(re.escape, sorted(members)))}]"
        if folded != character and len(folded) > 1:
            found = f"(?:{found}|{self.pattern(folded)})"
        return found + self._marks


@functools.cache
def _characters_that_change():
    """Lists characters with another case or a decomposition, no Hangul syllables."""
    every = map(chr, range(sys.maxunicode + 1))
    return [c for c in every if unicodedata.decomposition(c) or c.lower() != c]
