"""Tokens beyond a vocabulary, which are looked for in texts before these are split."""

import collections
import functools
import itertools
import re
import sys
import typing
import unicodedata

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.tokenization.byte_bpe.words import SPACES
from albert_tf.tokenization.decoding import flat_ids
from albert_tf.tokenization.features import encode_around
from albert_tf.tokenization.normalization import character_class
from albert_tf.tokenization.tokenizer import Tokenizer

# The combining characters of European scripts; a class of all is too large for RE2.
_MARKS = "[\u0300-\u036f]*"


class AddedToken(typing.NamedTuple):
    """A token that the user of a tokenizer added to it."""

    content: str  # the text that it stands for
    id: int  # a piece of the vocabulary may have the same
    # Whether texts are compared with it as the tokenizer prepares both, so without
    # regard to case where that lowers letters.
    normalized: bool = False
    lstrip: bool = False  # whether the white space before it is dropped


class WithAddedTokens(Tokenizer):
    """A tokenizer with added tokens.

    Of several tokens that begin at one place of a text, the longest counts. The text
    between two of them is tokenized by itself.

    Args:
        base: the tokenizer of the vocabulary.
        added: `AddedToken`s.
        source: their name in error messages.

    Raises:
        UserError: ids that neither follow the vocabulary's nor name a piece of it.

    Source: `AddedVocabulary` of Hugging Face's tokenizers. A normalized token is not
    found where a character of the text, such as a ligature, becomes several and they
    belong to the token in part only.
    """

    def __init__(self, base, added, source="given"):
        self.base, self.added = base, tuple(added)
        self.kind, self.file_name = base.kind, base.file_name
        self.model_type, self.special_pieces = base.model_type, base.special_pieces
        self.usual_layout = base.usual_layout
        self.segmentation, self.between_tokens = base.segmentation, base.between_tokens
        pieces = _all_pieces(base, self.added, source)
        casing, rules = base.do_lower_case, base.rules
        super().__init__(base.file_bytes, pieces, casing, source, rules)
        self.added_ids = frozenset(token.id for token in self.added)
        # The ids of contents, and of those that are prepared before.
        self.exact = {t.content: t.id for t in self.added if not t.normalized}
        # Of tokens that are prepared alike, the first counts.
        self.prepared = {
            self.fold(t.content): t.id for t in reversed(self.added) if t.normalized
        }
        self.stripping = {t.content for t in self.added if t.lstrip}
        self.pattern = "|".join(self._patterns())
        """A regular expression of the added tokens, for Python and for RE2."""

    def __getattr__(self, name):
        if name in ("base", "__setstate__"):  # while it is being unpickled
            raise AttributeError(name)
        return getattr(self.base, name)

    def _arguments(self):
        return self.base, self.added

    def _ids_of(self, pieces):
        return {**self.base._ids, **{token.content: token.id for token in self.added}}

    @property
    def spaced_pattern(self):
        """The `pattern` with the white space that tokens drop; Python is slow at it."""
        return "|".join(self._patterns(f"[{re.escape(SPACES)}]*"))

    def _patterns(self, dropped=""):
        """Puts the longest first: of alternatives, the first one counts."""
        spellings = Spellings(self.base.fold)
        for token in sorted(self.added, key=lambda t: -len(t.content)):
            before = dropped if token.lstrip else ""
            if not token.normalized:
                yield before + re.escape(token.content)
            elif self.fold(token.content):
                yield before + spellings.pattern(token.content)

    def fold(self, text):
        return self.base.fold(text)

    def token_id(self, text):
        """Returns the id of the text that `pattern` matches."""
        found = self.exact.get(text)
        return self.prepared[self.fold(text)] if found is None else found

    def _split(self, text):
        """Yields each part of a text and its beginning: added tokens at odd places.

        White space that a token drops is in no part.
        """
        parts, end = [], 0
        for match in re.finditer(self.pattern, text):
            before = text[end : match.start()]
            if match[0] in self.stripping:
                before = before.rstrip(SPACES)
            parts += [(end, before), (match.start(), match[0])]
            end = match.end()
        return [*parts, (end, text[end:])]

    def prepare(self, text):
        return self.base.prepare(text)

    def tokenize(self, text):
        found = []
        for index, (_, part) in enumerate(self._split(text)):
            is_added = index % 2
            pieces = [self.pieces[self.token_id(part)]] if is_added else None
            found += pieces or self.base.tokenize(part)
        return found

    def encode_flat(self, texts):
        rows = [[part for _, part in self._split(text)] for text in texts]
        return flat_ids(encode_around(self.base, rows, self.token_id))

    def encode_with_offsets(self, text):
        ids, spans = [], []
        for index, (begin, part) in enumerate(self._split(text)):
            if index % 2:
                found, places = [self.token_id(part)], [(0, len(part))]
            else:
                found, places = self.base.encode_with_offsets(part)
            ids += found
            spans += [(begin + start, begin + end) for start, end in places]
        return ids, spans

    def join(self, pieces):
        return self.base.join(pieces)

    def as_word(self, word):
        return self.base.as_word(word)

    def count_stripped(self, text):
        return self.base.count_stripped(text)

    def word_starts(self, official=False):
        starts = np.ones(self.vocab_size, np.bool_)
        starts[: self.base.vocab_size] = self.base.word_starts(official)
        starts[list(self.added_ids)] = True
        return starts

    def settings(self):
        tokens = [token._asdict() for token in self.added]
        return {**self.base.settings(), **super().settings(), "added_tokens": tokens}

    def _digest(self, recorded):
        tokens = "".join(f"\n{t.id} {t.normalized} {t.content!r}" for t in self.added)
        digest = self.base._digest(recorded)
        return checksums.of_bytes(f"{digest}{tokens}".encode())


def with_added_tokens(base, config, source):
    """Returns the tokenizer with the tokens that `read_saved_config` found beside it.

    Special pieces are not looked for in texts, in which they are text like any other,
    but for RoBERTa's.

    Raises:
        UserError: the list is damaged or does not fit the vocabulary.
    """
    try:
        added = [AddedToken(**token) for token in config.get("added_tokens", [])]
    except TypeError:
        added = [AddedToken("", -1)]
    for token in added:
        types = list(map(type, token))
        if types != [str, int, bool, bool] or not token.content or token.id < 0:
            raise UserError(
                f"{source} has a damaged list of added tokens; copy the file again."
            )
    added += _of_the_vocabulary(base, config, source, {t.content for t in added})
    added = base.looked_for(added)
    return WithAddedTokens(base, added, source) if added else base


def _of_the_vocabulary(base, config, source, listed):
    """Returns special tokens that a directory only names, as pieces of the vocabulary.

    Raises:
        UserError: one is no piece, and so has no id.
    """
    if base.model_type == "XLNet":
        return []  # "<eop>" and "<eod>", which it never looked for
    names = [n for n in config.get("special_tokens", []) if n not in listed]
    for name in names:
        if name not in base._ids and not base.is_reserved(name):
            raise UserError(
                f"{source}: the special token {name!r} of the directory has no id, "
                "neither in the vocabulary nor in a list of added tokens; copy "
                "added_tokens.json or tokenizer.json there, too."
            )
    return [AddedToken(name, base._ids[name]) for name in names if name in base._ids]


def _all_pieces(base, added, source):
    pieces = list(base.pieces)
    for token in sorted(added, key=lambda token: token.id):
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
            found = f"(?:{found}|{self.pattern(folded)})"
        return found + self._marks


@functools.cache
def _characters_that_change():
    """Lists characters with another case or a decomposition, no Hangul syllables."""
    every = map(chr, range(sys.maxunicode + 1))
    return [c for c in every if unicodedata.decomposition(c) or c.lower() != c]
