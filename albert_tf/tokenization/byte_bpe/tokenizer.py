"""Byte-level BPE as RoBERTa has it."""

import itertools
import json

import numpy as np

from albert_tf.errors import UserError
from albert_tf.row_layout import TWO_SEPARATORS
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.byte_bpe import words
from albert_tf.tokenization.byte_bpe.files import CHARACTERS
from albert_tf.tokenization.byte_bpe.files import bytes_of
from albert_tf.tokenization.byte_bpe.files import pairs_of
from albert_tf.tokenization.byte_bpe.words import Merges
from albert_tf.tokenization.decoding import flat_ids
from albert_tf.tokenization.normalization import repaired
from albert_tf.tokenization.rules import OFFICIAL
from albert_tf.tokenization.rules import TextRules
from albert_tf.tokenization.tokenizer import Tokenizer
from albert_tf.tokenization.tokenizer import by_role
from albert_tf.tokenization.word_starts import MARK
from albert_tf.tokenization.word_starts import is_byte_of_a_word
from albert_tf.tokenization.word_starts import starts_word

_CACHED_WORDS = 2**18
_LONGEST_CACHED = 64  # bytes
_SPACE = CHARACTERS[ord(" ")]


class ByteBpeTokenizer(Tokenizer):
    """The tokenizer of RoBERTa: GPT-2's words, and byte pairs merged within them.

    Texts are neither normalized nor lowered, and no piece is unknown. `load_tokenizer`
    returns it with its special tokens, which a text may hold (`WithAddedTokens`).

    Args:
        file_bytes: a `tokenizer.json`; the vocabulary and the merges in it count.
        do_lower_case: False or None.
        source: its name in error messages.
        rules: its `TextRules`.

    Raises:
        UserError: letters are to be lowered, or a special piece is missing.

    Source: `encoder.py` of openai/gpt-2; RobertaTokenizer of Hugging Face transformers.
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
        self.byte_pairs = pairs_of(json.loads(file_bytes)["model"], source)
        pieces = self.byte_pairs.pieces
        rules = TextRules(
            add_prefix_space=rules.add_prefix_space,
            truncation_side=rules.truncation_side,
        )
        super().__init__(file_bytes, pieces, False, source, rules)
        ids, merges = self._ids, self.byte_pairs.merges
        pairs = {
            (ids[left], ids[right]): (rank, ids[left + right])
            for rank, (left, right) in enumerate(merges)
        }
        self.merges = Merges([ids[character] for character in CHARACTERS], pairs)
        self._cache = _Cache(self.merges)

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
        """Prepends the space that a text is cut with, if rules and text want one."""
        text = repaired(text)
        return self.as_word(text) if self.rules.add_prefix_space else text

    def as_word(self, word):
        # A piece holds the space before a word; an empty text has no words.
        return f" {word}" if word and word[0] != " " else word

    def join(self, pieces):
        parts = [bytes_of(piece) or piece.encode() for piece in pieces]
        return b"".join(parts).decode(errors="replace")

    def count_stripped(self, text):
        return 0

    def encode_flat(self, texts):
        cache = self._cache
        rows = []
        for text in texts:
            cut = map(cache.__getitem__, words.words_of(self._prefixed(text)))
            rows.append([*itertools.chain.from_iterable(cut)])
        return flat_ids(rows)

    def encode_with_offsets(self, text):
        prefixed = self._prefixed(text)
        added = len(prefixed) - len(text)
        # The character that each byte belongs to.
        sizes = [len(character.encode()) for character in prefixed]
        origins = np.repeat(np.arange(len(sizes)), sizes)
        ids, spans, byte = [], [], 0
        for word in words.words_of(prefixed):
            for index in self._cache[word]:
                piece = self.pieces[index]
                start, byte = byte, byte + len(piece)
                span = int(origins[start]), int(origins[byte - 1]) + 1
                start, end = _trimmed(piece, *span)
                ids.append(index)
                spans.append((max(start - added, 0), max(end - added, 0)))
        return ids, spans

    def word_starts(self, official=False):
        starts = [self._starts_word(piece, official) for piece in self.pieces]
        return np.array(starts, np.bool_)

    def _starts_word(self, piece, official):
        data = bytes_of(piece)
        if official or data is None or piece in self.special_pieces.values():
            # `is_beginning_of_word` of fairseq's GPT-2 encoder.
            return piece[:1] == _SPACE or piece in self.special_pieces.values()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return not is_byte_of_a_word(data[0])
        marked = MARK + text[1:] if text[0] in words.SPACES else text
        return starts_word(marked, is_xlnet=True)


class _Cache(dict):
    """The ids of words, a tuple each; it begins anew when it is full."""

    def __init__(self, merges):
        super().__init__()
        self._merges = merges

    def __missing__(self, word):
        data = word.encode()
        ids = tuple(self._merges.apply(data))
        if len(data) <= _LONGEST_CACHED:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = ids
        return ids


def _trimmed(piece, start, end):
    """Returns the characters of a piece without the spaces at its ends."""
    start = min(start + len(piece) - len(piece.lstrip(_SPACE)), end)
    return start, max(end - (len(piece) - len(piece.rstrip(_SPACE))), start)
