"""WordPiece with the official preprocessing, for the Chinese models."""

import functools
import re
import unicodedata

from albert_tf.tokenization import normalization
from albert_tf.tokenization.features import flat_ids
from albert_tf.tokenization.tokenizer import OFFICIAL
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.tokenizer import Tokenizer
from albert_tf.tokenization.tokenizer import WordCache
from albert_tf.tokenization.tokenizer import by_role

MAX_WORD_LENGTH = 200
_THEIR_MAX_WORD_LENGTH = 100
# Each Chinese character is a word.
_WORDS = re.compile(
    f"{normalization.CHINESE}"
    f"|[^{re.escape(normalization.WHITE_SPACE)}{normalization.CHINESE[1:-1]}]+"
)
_BEFORE_ENGLISH_MARKS = re.compile(r" (?=[.,!?;:])")
_FIRST_WIDE = "\u2e80"  # from here on, characters are written without spaces


class WordPieceTokenizer(Tokenizer):
    """The tokenizer of the released Chinese models (a `vocab.txt`).

    Args:
        file_bytes: the vocabulary, one piece per line, in UTF-8.
        do_lower_case: whether to lower letters and, unless the rules say otherwise,
            strip accents; None means True.
        source: its name in error messages.
        rules: its `TextRules`.

    Raises:
        UserError: a special piece is missing.

    Source: `load_vocab`, `BasicTokenizer` and `WordpieceTokenizer` in
    tokenization.py of google-research/albert.
    """

    kind, file_name = "wordpiece", "vocab.txt"
    special_pieces = by_role("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, file_bytes, do_lower_case=None, source="given", rules=OFFICIAL):
        do_lower_case = True if do_lower_case is None else do_lower_case
        lines = _lines(file_bytes.decode("utf-8"))
        pieces = _official_pieces(lines)
        # In all released vocabularies, both are the same.
        counts_lines = rules.counts_lines and pieces != lines
        strips = rules.strip_accents
        self.strip_accents = do_lower_case if strips is None else strips
        is_usual = self.strip_accents == do_lower_case
        rules = TextRules(
            counts_lines=counts_lines,
            strip_accents=None if is_usual else self.strip_accents,
            as_tokenizers=rules.as_tokenizers,
            truncation_side=rules.truncation_side,
        )
        self.max_word_length = MAX_WORD_LENGTH
        self.is_removed = normalization.is_removed
        if rules.as_tokenizers:
            self.max_word_length = _THEIR_MAX_WORD_LENGTH
            self.is_removed = normalization.is_removed_or_private
        pieces = lines if counts_lines else pieces
        super().__init__(file_bytes, pieces, do_lower_case, source, rules)
        self._vocabulary = self._ids  # without added tokens
        self._longest_piece = max(map(len, pieces))
        self._known = WordCache(self._encode_word)

    def _ids_of(self, pieces):
        # Official pieces are distinct; the last of equal lines counts.
        return {piece: index for index, piece in enumerate(pieces)}

    @property
    def distinct_pieces(self):
        """The pieces of the file; a piece that no word yields has a placeholder."""
        known = self._vocabulary
        return [
            piece if piece and known.get(piece) == index else f" {index}"
            for index, piece in enumerate(self.pieces)
        ]

    def fold(self, text):
        parts = [self._parts(word) for word in text.split()]
        return " ".join("".join(part for part, _ in word) for word in parts)

    def words(self, text):
        """Returns the words of a text, a list of str: no piece is in two of them."""
        kept = self._kept(text)
        parts = [part for word in _WORDS.findall(kept) for part in self._parts(word)]
        return ["".join(characters) for characters, _ in parts]

    def cut(self, piece):
        """Returns the ids that the vocabulary has for the characters of a piece."""
        is_inside = piece.startswith("##") and len(piece) > 2
        part = piece[2:] if is_inside else piece
        return self._longest_matches(part, is_inside)[0]

    def join(self, pieces):
        # White space is lost: a space joins words, except around characters of scripts
        # without spaces and before English punctuation.
        text = ""
        for piece in pieces:
            if piece.startswith("##") and len(piece) > 2:
                text += piece[2:]
                continue
            close = not text or _is_wide(text[-1]) or _is_wide(piece[:1])
            text += piece if close else f" {piece}"
        return _BEFORE_ENGLISH_MARKS.sub("", text)

    def count_stripped(self, text):
        if not self.strip_accents:
            return 0
        return normalization.count_members(text, normalization.is_accented_in_words)

    def _encode_flat(self, texts):
        known = self._known
        rows = []
        for text in texts:
            words = _WORDS.findall(self._kept(text))
            rows.append([i for word in words for i in known[word][0]])
        return flat_ids(rows)

    def _kept(self, text):
        removed = normalization.runs_of(self.is_removed)
        return removed.sub("", normalization.repaired(text))

    def _encode_with_offsets(self, text):
        text = normalization.repaired(text)
        places = [i for i, c in enumerate(text) if not self.is_removed(c)]
        ids, spans = [], []
        for match in _WORDS.finditer("".join(text[place] for place in places)):
            word_ids, word_spans = self._known[match[0]]
            begin = match.start()
            ids += word_ids
            spans += [
                (places[begin + start], places[begin + end - 1] + 1)
                for start, end in word_spans
            ]
        return ids, spans

    def _starts_word(self, piece, official):
        return not piece.startswith("##")

    def _encode_word(self, word):
        """Returns the ids of a word and their spans in it."""
        ids = []
        spans = []
        for part, origins in self._parts(word):
            part_ids, ends = self._longest_matches(part)
            ids.extend(part_ids)
            starts = [0, *ends[:-1]]
            spans.extend(
                (origins[start], origins[end - 1] + 1)
                for start, end in zip(starts, ends, strict=True)
            )
        return ids, spans

    def _parts(self, word):
        """Normalizes a word and splits it at punctuation and white space."""
        origins = [
            index
            for index, character in enumerate(word)
            for _ in self._normalized(character)
        ]
        word = self._normalized(word)
        parts = []
        start_new = True
        for character, origin in zip(word, origins, strict=True):
            alone = normalization.is_punctuation(character)
            if character.isspace():
                start_new = True
                continue
            if alone or start_new:
                parts.append(([], []))
            characters, part_origins = parts[-1]
            characters.append(character)
            part_origins.append(origin)
            start_new = alone
        return [("".join(characters), origins) for characters, origins in parts]

    def _normalized(self, text):
        if self.do_lower_case:
            text = normalization.lowered(text, self.rules.as_tokenizers)
        return _strip_accents(text) if self.strip_accents else text

    def _longest_matches(self, part, is_inside=False):
        """Returns greedy longest matches: ids and the end of each in `part`.

        `is_inside` says that characters of the same word precede the part.
        """
        unknown = [self.unk_id], [len(part)]
        if len(part) > self.max_word_length:
            return unknown
        ids = []
        ends = [0]
        while ends[-1] < len(part):
            start = ends[-1]
            prefix = "##" if start or is_inside else ""
            longest = min(len(part), start + self._longest_piece)
            for end in range(longest, start, -1):
                index = self._vocabulary.get(prefix + part[start:end])
                if index is not None:
                    break
            else:
                return unknown
            ids.append(index)
            ends.append(end)
        return ids, ends[1:]


def _lines(text):
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def official_vocabulary(file_bytes):
    """Rewrites a vocabulary as the lines of pieces that the official code reads."""
    pieces = _official_pieces(_lines(file_bytes.decode("utf-8")))
    return "".join(f"{piece}\n" for piece in pieces).encode()


def _official_pieces(lines):
    """Lists the distinct first fields of the lines; a blank line is a space."""
    return list(dict.fromkeys((line.split() or [" "])[0] for line in lines))


def _is_wide(character):
    return character >= _FIRST_WIDE and (
        normalization.is_chinese(character) or normalization.is_punctuation(character)
    )


def _strip_accents(text):
    if text.isascii():
        return text
    text = normalization.runs_of(normalization.is_moved_accent).sub("", text)
    parts = _many_marks().split(text) if len(text) > MAX_WORD_LENGTH else [text]
    parts[::2] = [unicodedata.normalize("NFD", part) for part in parts[::2]]
    return "".join(c for c in "".join(parts) if not normalization.is_accent(c))


@functools.cache
def _many_marks():
    """Returns an expression for runs of marks that are left unsorted.

    A word with so many marks is unknown whatever their order, and sorting them takes
    quadratic time.
    """
    marks = normalization.character_class(unicodedata.combining)
    return re.compile(f"({marks}{{{MAX_WORD_LENGTH + 1},}})")
