"""Ids and tokens back and forth, and ids back to a text."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.near_misses import unknown_attribute
from albert_tf.tokenization import normalization
from albert_tf.tokenization.features import special_ids

_BEFORE_ENGLISH_MARKS = re.compile(r" (?=[.,!?;:])")
_FIRST_WIDE = "\u2e80"  # from here on, characters are written without spaces


class IdsAndTokens:
    """Ids, pieces and texts made of them, for every `Tokenizer`."""

    def __getattr__(self, name: str) -> Any:
        """Gives other names of special pieces and ids, such as `mask_token_id`."""
        attribute = name.replace("_token", "", 1).removesuffix("_id") + "_id"
        if "_token" in name and attribute in self.special_pieces:
            if name.endswith("_id"):
                return getattr(self, attribute)
            return self.special_pieces[attribute]
        raise AttributeError(unknown_attribute("The tokenizer", name))

    def get_vocab(self) -> dict[str, int]:
        """Returns the id of each piece, a dict."""
        return dict(self._ids)

    @property
    def vocab(self) -> dict[str, int]:
        return self.get_vocab()

    @property
    def all_special_ids(self) -> list[int]:
        return [getattr(self, attribute) for attribute in self.special_pieces]

    def batch_decode(
        self, ids: Iterable[Any], skip_special_tokens: bool = False
    ) -> list[str]:
        """Returns a list of str; see `decode`."""
        return [self.decode(row, skip_special_tokens) for row in ids]

    def decode(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the text of ids: in lower case and with single spaces.

        Byte-level BPE gives the very text back, as far as its letters are whole.

        Args:
            ids: ints `[tokens]`, or `[batch, tokens]`, of equal lengths or not.
            skip_special_tokens: leave padding, `[CLS]`, `[SEP]` and `[MASK]` out.

        Returns:
            A str, or a list of str for a batch.

        Raises:
            UserError: an id outside the vocabulary.
        """
        if not isinstance(ids, list | tuple):
            ids = np.atleast_1d(ids)
        if len(ids) and np.ndim(ids[0]):
            return [self.decode(row, skip_special_tokens) for row in ids]
        unknown = self.pieces[self.unk_id]
        skipped = special_ids(self).keys() - {unknown}
        alone = {*skipped, unknown, *(self.pieces[index] for index in self.added_ids)}
        dropped = skipped if skip_special_tokens else set()
        tokens, parts = self.convert_ids_to_tokens(ids), []
        for is_alone, run in itertools.groupby(tokens, alone.__contains__):
            if is_alone:
                parts += [token for token in run if token not in dropped]
            else:
                parts.append(self.join(list(run)))
        return self.between_tokens.join(part for part in parts if part)

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """Returns the piece of an int, or a list of pieces for ints `[tokens]`.

        Raises:
            UserError: an id outside the vocabulary.
        """
        ids = _array(ids)
        if ids.ndim > 1:
            raise UserError(
                f"ids must be an int or a list of int, got an array of shape "
                f"{ids.shape}."
            )
        wrong = ids[(ids < 0) | (ids >= self.vocab_size)]
        if wrong.size:
            raise UserError(
                f"The id {wrong.flat[0]} is not in the vocabulary, whose "
                f"{self.vocab_size} pieces have the ids 0 to {self.vocab_size - 1}."
            )
        if not ids.ndim:
            return self.pieces[int(ids)]
        return [self.pieces[index] for index in ids.tolist()]

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """Returns the id of a piece, or of each of a list; unknown ones have `unk_id`.

        Raises:
            UserError: a token that is not a str.
        """
        if isinstance(tokens, str):
            return self._ids.get(tokens, self.unk_id)
        found = []
        for token in tokens:
            if not isinstance(token, str):
                raise UserError(f"A token must be a str, got {token!r}.")
            found.append(self._ids.get(token, self.unk_id))
        return found


def flat_ids(rows):
    """Returns the ids of rows, one row after the other, and the lengths; int32 both."""
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    flat = itertools.chain.from_iterable(rows)
    return np.fromiter(flat, np.int32, int(lengths.sum())), lengths


def join_words(pieces):
    """Joins WordPiece pieces to a text, as far as they tell what it was.

    White space is lost: words are joined by one space, but not around characters that
    are written without, nor before English punctuation.
    """
    text = ""
    for piece in pieces:
        if piece.startswith("##") and len(piece) > 2:
            text += piece[2:]
            continue
        close = not text or _is_wide(text[-1]) or _is_wide(piece[:1])
        text += piece if close else f" {piece}"
    return _BEFORE_ENGLISH_MARKS.sub("", text)


def _is_wide(character):
    return character >= _FIRST_WIDE and (
        normalization.is_chinese(character) or normalization.is_punctuation(character)
    )


def _array(ids):
    try:
        array = np.asarray(ids)
    except (TypeError, ValueError):
        array = np.asarray("")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise UserError(f"ids must be an int or a list of int, got {ids!r}.")
    return array
