"""Tokens added to a vocabulary, which tokenizers find before they split a text."""

import collections
import functools
import itertools
import re
import sys
import typing
import unicodedata

from albert_tf.errors import UserError
from albert_tf.tokenization.normalization import SPACES
from albert_tf.tokenization.normalization import character_class

# The combining characters of European scripts; a class of all would be too large for
# RE2.
_MARKS = "[\u0300-\u036f]*"


class AddedToken(typing.NamedTuple):
    """A token that the user of a tokenizer added to it."""

    content: str  # the text that means this token
    id: int  # may equal the id of a piece of the vocabulary
    # Whether the tokenizer prepares text and content before comparing them: regardless
    # of case if it lowers letters.
    normalized: bool = False
    lstrip: bool = False  # whether the white space before it is dropped


class AddedTokens:
    """Finds added tokens in texts.

    If several tokens begin at one place in a text, the longest one counts.

    Args:
        tokens: `AddedToken`s.
        fold: a function that maps equivalent spellings to one form, such as lower case.

    Attributes:
        tokens: tuple of `AddedToken`s.
        ids: frozenset of int.
        exact: dict from content to id, for tokens that are compared exactly.
        prepared: dict from folded content to id, for normalized tokens.
        stripping: set of the contents of tokens that drop white space before them.
        pattern: a regular expression for the tokens, for Python and RE2.
        spaced_pattern: the same with the white space that tokens drop; slow in Python.

    Source: `AddedVocabulary` of Hugging Face's tokenizers. A normalized token is not
    found where one character of the text, such as a ligature, becomes several and only
    some of them belong to the token.
    """

    def __init__(self, tokens, fold):
        self.tokens, self._fold = tuple(tokens), fold
        self.ids = frozenset(token.id for token in self.tokens)
        self.exact = {t.content: t.id for t in self.tokens if not t.normalized}
        # Of tokens with equal folded contents, that of the lowest id counts.
        by_id = sorted(self.tokens, key=lambda token: -token.id)
        self.prepared = {fold(t.content): t.id for t in by_id if t.normalized}
        self.stripping = {t.content for t in self.tokens if t.lstrip}
        self._marks = "" if fold("\u0301") else _MARKS
        self.pattern = "|".join(self._patterns())
        self.spaced_pattern = "|".join(self._patterns(f"[{re.escape(SPACES)}]*"))

    def id_of(self, text):
        """Returns the id of the token whose spelling `pattern` matched."""
        found = self.exact.get(text)
        return self.prepared[self._fold(text)] if found is None else found

    def split(self, text):
        """Splits a text into (beginning, part), with tokens at odd indices.

        White space that a token drops belongs to no part.
        """
        parts, end = [], 0
        for match in re.finditer(self.pattern, text):
            before = text[end : match.start()]
            if match[0] in self.stripping:
                before = before.rstrip(SPACES)
                while not before and parts and not parts[-1][1].strip(SPACES):
                    del parts[-1]  # a token of white space, which drops, too
                    end, before = parts.pop()
                    before = before.rstrip(SPACES)
            parts += [(end, before), (match.start(), match[0])]
            end = match.end()
        return [*parts, (end, text[end:])]

    def _patterns(self, dropped=""):
        # The longest first, because the first matching alternative counts; white space
        # belongs to a token behind it that drops it.
        def rank(token):
            return not token.content.strip(SPACES), -len(token.content)

        for token in sorted(self.tokens, key=rank):
            before = dropped if token.lstrip else ""
            if not token.normalized:
                yield before + re.escape(token.content)
            elif self._fold(token.content):
                yield before + self._spellings(token.content)

    @functools.cached_property
    def _others(self):
        """Sets of the characters that `fold` changes, by their folded form."""
        others = collections.defaultdict(set)
        for character in _characters_that_change():
            others[self._fold(character)].add(character)
        return others

    def _spellings(self, text):
        """Returns an expression for all texts with the same folded form as `text`."""
        found = ""
        for is_space, run in itertools.groupby(text, str.isspace):
            run = list(run)
            if is_space:
                found += f"{character_class(str.isspace)}{{{len(run)},}}"
            else:
                found += "".join(map(self._of_character, run))
        return found

    def _of_character(self, character):
        folded = self._fold(character)
        if not folded:
            return ""
        members = {character} | self._others.get(folded, set())
        if len(folded) == 1:
            members.add(folded)
        found = f"[{''.join(map(re.escape, sorted(members)))}]"
        if folded != character and len(folded) > 1:
            found = f"(?:{found}|{self._spellings(folded)})"
        return found + self._marks


def pieces_with(pieces, tokens, source):
    """Returns a vocabulary's pieces and the tokens whose ids follow them.

    Raises:
        UserError: the id of a token neither follows nor names an equal piece; the
            message calls the tokens' list by `source`.
    """
    pieces = list(pieces)
    for token in sorted(tokens, key=lambda token: token.id):
        if token.id == len(pieces):
            pieces.append(token.content)
        elif token.id > len(pieces) or token.content != pieces[token.id]:
            there = (
                f"which is {pieces[token.id]!r} in the vocabulary"
                if token.id < len(pieces)
                else f"but the next free one is {len(pieces)}"
            )
            raise UserError(
                f"{source} gives the added token {token.content!r} the id {token.id}, "
                f"{there}; put the vocabulary there that the model was trained with."
            )
    return pieces


@functools.cache
def _characters_that_change():
    """Lists characters with another case or a decomposition, no Hangul syllables."""
    every = map(chr, range(sys.maxunicode + 1))
    return [c for c in every if unicodedata.decomposition(c) or c.lower() != c]
