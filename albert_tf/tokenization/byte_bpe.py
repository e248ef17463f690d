"""The byte-level BPE of RoBERTa and ModernBERT: GPT-2's words, and merged byte pairs.

GPT-2's expression of words is
`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`
with the tables of Unicode 16, as Hugging Face's tokenizers read it. The classes are
spelt out here: Python's `re` has no property classes, and other libraries' are of other
versions of Unicode.

Source: `encoder.py` of openai/gpt-2; RobertaTokenizer of Hugging Face transformers.
"""

import functools
import heapq
import itertools
import json
import re
import sys
import unicodedata

import numpy as np

from albert_tf.errors import UserError
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.features import flat_ids
from albert_tf.tokenization.normalization import SPACES
from albert_tf.tokenization.normalization import composed_with_spans
from albert_tf.tokenization.normalization import repaired
from albert_tf.tokenization.tokenizer import OFFICIAL
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.tokenizer import Tokenizer
from albert_tf.tokenization.tokenizer import WordCache
from albert_tf.tokenization.tokenizer import by_role
from albert_tf.tokenization.word_starts import MARK
from albert_tf.tokenization.word_starts import is_byte_of_a_word
from albert_tf.tokenization.word_starts import starts_word

_MODERNBERT_PIECES = by_role("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY, MERGES = "vocab.json", "merges.txt"
"""The two files of a byte-level BPE, instead of a `tokenizer.json`."""


def _visible_bytes():
    """Returns each byte's visible character, as in GPT-2's `encoder.py`."""
    alike = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in alike]
    characters = {byte: chr(byte) for byte in alike}
    characters |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    return [characters[byte] for byte in range(256)]


CHARACTERS = _visible_bytes()
"""The visible character of each byte."""
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}
_SPACE = CHARACTERS[ord(" ")]


def bytes_of(piece):
    """Returns a piece's bytes, or None if it is made of other characters."""
    try:
        return bytes(map(_BYTES.__getitem__, piece))
    except KeyError:
        return None


# What Unicode 14, 15, 15.1 and 16 added: the oldest Python has the tables of 13.
_NEW_LETTERS = """
870-887 889-88E 8B5 8C8-8C9 C5D CDD 170D 171F 1B4C 1C89-1C8A 2C2F 2C5F 9FFD-9FFF
A7C0-A7C1 A7CB-A7CD A7D0-A7D1 A7D3 A7D5-A7DC A7F2-A7F4 10570-1057A 1057C-1058A
1058C-10592 10594-10595 10597-105A1 105A3-105B1 105B3-105B9 105BB-105BC 105C0-105F3
10780-10785 10787-107B0 107B2-107BA 10D4A-10D65 10D6F-10D85 10EC2-10EC4 10F70-10F81
11071-11072 11075 1123F-11240 11380-11389 1138B 1138E 11390-113B5 113B7 113D1 113D3
11740-11746 11AB0-11ABF 11BC0-11BE0 11F02 11F04-11F10 11F12-11F33 12F90-12FF0 1342F
13441-13446 13460-143FA 16100-1611D 16A70-16ABE 16D40-16D6C 18CFF 1AFF0-1AFF3
1AFF5-1AFFB 1AFFD-1AFFE 1B11F-1B122 1B132 1B155 1DF00-1DF1E 1DF25-1DF2A 1E030-1E06D
1E290-1E2AD 1E4D0-1E4EB 1E5D0-1E5ED 1E5F0 1E7E0-1E7E6 1E7E8-1E7EB 1E7ED-1E7EE
1E7F0-1E7FE 2A6DE-2A6DF 2B735-2B739 2EBF0-2EE5D 31350-323AF
"""
_NEW_NUMBERS = """
10D40-10D49 116D0-116E3 11BF0-11BF9 11F50-11F59 16130-16139 16AC0-16AC9 16D70-16D79
1CCF0-1CCF9 1D2C0-1D2D3 1E4F0-1E4F9 1E5F1-1E5FA
"""


LETTER, NUMBER, OTHER, SPACE = range(4)


def _characters(ranges):
    """Returns the characters of ranges of hexadecimal numbers."""
    bounds = [item.split("-") for item in ranges.split()]
    codes = (range(int(b[0], 16), int(b[-1], 16) + 1) for b in bounds)
    return [chr(code) for part in codes for code in part]


_LISTED = dict.fromkeys(SPACES, SPACE)
_LISTED |= dict.fromkeys(_characters(_NEW_LETTERS), LETTER)
_LISTED |= dict.fromkeys(_characters(_NEW_NUMBERS), NUMBER)
_BY_CATEGORY = {"L": LETTER, "N": NUMBER}


def class_of(character):
    """Returns LETTER or NUMBER (Unicode's properties L and N), SPACE or OTHER."""
    category = unicodedata.category(character)[0]
    return _LISTED.get(character, _BY_CATEGORY.get(category, OTHER))


@functools.cache
def classes():
    """Returns each character's class, uint8 `[0x110000]`, in half a second."""
    codes = range(sys.maxunicode + 1)
    return np.fromiter((class_of(chr(code)) for code in codes), np.uint8, len(codes))


def _compiled(letter, number, other, space):
    """Compiles GPT-2's expression; the arguments are the contents of `[…]`."""
    return re.compile(
        f"'(?:[sdmt]|ll|ve|re)| ?[{letter}]+| ?[{number}]+| ?[{other}]+"
        f"|[{space}]+(?![^{space}])|[{space}]+"
    )


_ascii_words = _compiled("A-Za-z", "0-9", r"^\t-\r 0-9A-Za-z", "\t-\r ")


@functools.cache
def _any_words():
    found = classes()
    begins = np.flatnonzero(np.diff(found, prepend=found[0] ^ 1))
    ends = [*begins[1:], len(found)]
    ranges = ["", "", "", ""]
    for begin, end in zip(begins, ends, strict=True):
        first, last = chr(begin), chr(end - 1)
        ranges[found[begin]] += f"{re.escape(first)}-{re.escape(last)}"
    return _compiled(*ranges)


def words_of(text):
    """Cuts a text into words, a list of str; joined, they are the text."""
    return (_ascii_words if text.isascii() else _any_words()).findall(text)


class Merges:
    """Merges neighbouring pieces by rank.

    Args:
        byte_ids: list of int [256], the id of each byte alone.
        pairs: `{(left id, right id): (rank, id of both)}`.
    """

    def __init__(self, byte_ids, pairs):
        self.byte_ids, self.pairs = byte_ids, pairs

    def apply(self, word):
        """Returns the ids of a word, bytes, as a list of int.

        It merges the pair of the lowest rank first, the leftmost on a tie, until no
        pair is left, in O(n log n).
        """
        ids = [self.byte_ids[byte] for byte in word]
        end, pairs = len(ids), self.pairs
        # The start of each piece's neighbours; a merged piece stays at the left one.
        before, behind = list(range(-1, end - 1)), list(range(1, end + 1))
        heap = []

        def note(left, right):
            found = pairs.get((ids[left], ids[right]))
            if found:
                heapq.heappush(heap, (found[0], left, found[1], right))

        for left in range(end - 1):
            note(left, left + 1)
        while heap:
            rank, left, merged, right = heapq.heappop(heap)
            if ids[left] is None or ids[right] is None or behind[left] != right:
                continue
            if pairs.get((ids[left], ids[right])) != (rank, merged):
                continue  # one of both has grown since
            ids[left], ids[right] = merged, None
            behind[left] = following = behind[right]
            if following < end:
                before[following] = left
                note(left, following)
            if before[left] >= 0:
                note(before[left], left)
        return [index for index in ids if index is not None]

    def grow_in_order(self):
        """Returns whether every merge ranks after the merges that make its pieces.

        Then all occurrences of the pair of the lowest rank can be merged at once,
        because none of them makes a pair of a lower rank.
        """
        last_made = {}
        for rank, merged in self.pairs.values():
            last_made[merged] = max(rank, last_made.get(merged, -1))
        return all(
            max(last_made.get(left, -1), last_made.get(right, -1)) < rank
            for (left, right), (rank, _) in self.pairs.items()
        )


class ByteBpeTokenizer(Tokenizer):
    """The tokenizer of RoBERTa, and of ModernBERT.

    Texts are not lowered, and composed only by the rule `composes`; no piece is
    unknown. `load_tokenizer` adds the special tokens as `AddedToken`s, so that a text
    may contain them. The special pieces in the vocabulary select the row layout: `<s>`
    is RoBERTa's, `[CLS]` ModernBERT's.

    Args:
        file_bytes: a `tokenizer.json`, of which only vocabulary and merges are read.
        do_lower_case: False or None.
        source: the file's name in error messages.
        rules: its `TextRules`.

    Attributes:
        merges: the `Merges`.

    Raises:
        UserError: `do_lower_case` is true, the piece of a byte or a special piece is
            missing, or ids have gaps or repeat.
        KeyError: the vocabulary lacks a piece of the merges.
    """

    kind, file_name = "byte_bpe", "tokenizer.json"
    model_type = "RoBERTa"
    usual_layout = TWO_SEPARATORS
    special_pieces = by_role("<pad>", "<unk>", "<s>", "</s>", "<mask>")
    between_tokens = ""

    def __init__(self, file_bytes, do_lower_case=None, source="given", rules=OFFICIAL):
        if do_lower_case:
            raise UserError(
                f"The byte-level BPE {source} keeps capital letters; leave "
                "--do_lower_case out, or pass --do_lower_case=false."
            )
        model = json.loads(file_bytes)["model"]
        ids, self._pairs = model["vocab"], _pairs_of(model["merges"])
        _check(ids, source)
        if _MODERNBERT_PIECES["cls_id"] in ids and "<s>" not in ids:
            self.special_pieces, self.model_type = _MODERNBERT_PIECES, "ModernBERT"
            self.usual_layout = ONE_SEGMENT
        rules = TextRules(
            add_prefix_space=rules.add_prefix_space,
            composes=rules.composes,
            truncation_side=rules.truncation_side,
        )
        super().__init__(file_bytes, sorted(ids, key=ids.get), False, source, rules)
        pairs = {
            (ids[left], ids[right]): (rank, ids[left + right])
            for rank, (left, right) in enumerate(self._pairs)
        }
        self.merges = Merges([ids[character] for character in CHARACTERS], pairs)
        apply = self.merges.apply
        self._known = WordCache(lambda word: tuple(apply(word.encode())))

    @classmethod
    def of(cls, vocabulary, merges):
        """Makes a tokenizer of the arguments of `tokenizer_json`."""
        return cls(tokenizer_json(vocabulary, merges))

    def looked_for(self, added):
        # Nothing is normalized, whatever a list says.
        added = [token._replace(normalized=False) for token in added]
        listed = {token.content for token in added}
        special = [
            AddedToken(piece, getattr(self, name), lstrip=name == "mask_id")
            for name, piece in self.special_pieces.items()
            if piece not in listed
        ]
        return special + added

    def _prefixed(self, text):
        """Composes a text, and prepends a space to it, as the rules require."""
        text = repaired(text)
        if self.rules.composes:
            text = unicodedata.normalize("NFC", text)
        return self.as_word(text) if self.rules.add_prefix_space else text

    def as_word(self, word):
        # A piece holds the space before a word; an empty text has no words.
        return f" {word}" if word and word[0] != " " else word

    def join(self, pieces):
        parts = [bytes_of(piece) or piece.encode() for piece in pieces]
        return b"".join(parts).decode(errors="replace")

    def count_stripped(self, text):
        return 0

    def words(self, text):
        """Yields the ids of each word of a text, tuples of int."""
        return map(self._known.__getitem__, words_of(self._prefixed(text)))

    def _encode_flat(self, texts):
        rows = []
        for text in texts:
            rows.append([*itertools.chain.from_iterable(self.words(text))])
        return flat_ids(rows)

    def _encode_with_offsets(self, text):
        if not self.rules.composes or unicodedata.is_normalized("NFC", text):
            return self._encode_composed(text)
        text, origins = composed_with_spans(repaired(text))
        ids, spans = self._encode_composed(text)
        begins = [*(start for start, _ in origins), origins[-1][1]]
        return ids, [
            (begins[a], origins[b - 1][1] if b > a else begins[a]) for a, b in spans
        ]

    def _encode_composed(self, text):
        prefixed = self._prefixed(text)
        added = len(prefixed) - len(text)
        # The character that each byte belongs to.
        sizes = [len(character.encode()) for character in prefixed]
        origins = np.repeat(np.arange(len(sizes)), sizes)
        ids, spans, byte = [], [], 0
        for word in words_of(prefixed):
            for index in self._known[word]:
                piece = self.pieces[index]
                start, byte = byte, byte + len(piece)
                span = int(origins[start]), int(origins[byte - 1]) + 1
                start, end = _trimmed(piece, *span)
                ids.append(index)
                spans.append((max(start - added, 0), max(end - added, 0)))
        return ids, spans

    def _starts_word(self, piece, official):
        data = bytes_of(piece)
        if official or data is None or piece in self.special_pieces.values():
            # `is_beginning_of_word` of fairseq's GPT-2 encoder.
            return piece[:1] == _SPACE or piece in self.special_pieces.values()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return not is_byte_of_a_word(data[0])
        marked = MARK + text[1:] if text[0] in SPACES else text
        return starts_word(marked, is_xlnet=True)

    def one_file(self):
        """Returns the bytes of a whole `tokenizer.json`, as ModernBERT's are."""
        content = json.loads(self.file_bytes)
        special = self.special_pieces.values()
        flags = {"single_word": False, "rstrip": False}
        content["added_tokens"] = [
            {
                "id": token.id,
                "content": token.content,
                "lstrip": token.lstrip,
                # White space before a token that drops it belongs to that token.
                "normalized": token.content.isspace(),
                "special": token.content in special,
                **flags,
            }
            for token in sorted(self.added.tokens, key=lambda token: token.id)
        ]
        content["normalizer"] = {"type": "NFC"} if self.rules.composes else None
        content["pre_tokenizer"]["add_prefix_space"] = self.rules.add_prefix_space
        cls, sep = (self.pieces[index] for index in (self.cls_id, self.sep_id))
        content["post_processor"] = _template(cls, sep, self._ids)
        return json.dumps(content, ensure_ascii=False).encode()

    def two_files(self):
        """Returns the contents of `vocab.json` and `merges.txt`: bytes by name."""
        ids = json.loads(self.file_bytes)["model"]["vocab"]
        lines = ["#version: 0.2", *(" ".join(pair) for pair in self._pairs)]
        return {
            VOCABULARY: json.dumps(ids, ensure_ascii=False).encode(),
            MERGES: "".join(f"{line}\n" for line in lines).encode(),
        }


def _template(cls, sep, ids):
    """Returns the post_processor of rows `[CLS] A [SEP]`, or with ` B [SEP]` behind."""
    first, last = ({"SpecialToken": {"id": t, "type_id": 0}} for t in (cls, sep))
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [first, a, last],
        "pair": [first, a, last, b, last],
        "special_tokens": {
            piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]}
            for piece in (cls, sep)
        },
    }


def _trimmed(piece, start, end):
    """Returns the characters of a piece without the spaces at its ends."""
    start = min(start + len(piece) - len(piece.lstrip(_SPACE)), end)
    return start, max(end - (len(piece) - len(piece.rstrip(_SPACE))), start)


def _pairs_of(merges):
    return [tuple(m.split(" ") if isinstance(m, str) else m) for m in merges]


def _check(vocabulary, source):
    ids = vocabulary.values()
    if any(type(i) is not int for i in ids) or set(ids) != set(range(len(ids))):
        raise UserError(
            f"{source} must give its {len(vocabulary)} pieces the ids 0 to "
            f"{len(vocabulary) - 1}, each once; copy the file again."
        )
    missing = {*CHARACTERS} - vocabulary.keys()
    if missing:
        raise UserError(
            f"{source} has no pieces for {len(missing)} of the 256 bytes; albert_tf "
            "reads only byte-level vocabularies with all bytes."
        )


def tokenizer_json(vocabulary, merges):
    """Returns the bytes of a `tokenizer.json` with only a vocabulary and merges.

    Args:
        vocabulary: `{piece: id}`.
        merges: list of pairs of str, or of str with a space between two pieces.
    """
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    content = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": dict(sorted(vocabulary.items(), key=lambda item: item[1])),
            "merges": _pairs_of(merges),
        },
    }
    return json.dumps(content, ensure_ascii=False).encode()


def merges_of(text):
    """Returns the merges of a `merges.txt`, as `tokenizer_json` takes them."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].startswith("#version"):
        lines.pop(0)
    return [line for line in lines if line]
