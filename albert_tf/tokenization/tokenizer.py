"""The base of all tokenizers."""

import abc
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tokenization import decoding
from albert_tf.tokenization.features import LONGEST
from albert_tf.tokenization.features import PARAMETERS
from albert_tf.tokenization.features import as_tensors
from albert_tf.tokenization.features import check_return_tensors
from albert_tf.tokenization.features import features_of
from albert_tf.tokenization.features import list_of_texts

CONFIG_NAME = "tokenizer_config.json"
# 9 of 20,969 paragraphs of Wikipedia, 34 of 3,253,225 tokens.
UNRECORDED = (
    "it was begun before albert_tf recorded which of several equally good sequences of "
    "pieces a text becomes; about one English paragraph in 2,000 may have been cut "
    "into other pieces than it is now"
)
"""Message where an `earlier_fingerprint` is met."""

# Folders into which this process has saved a vocabulary by itself.
_SAVED_ALONE = set()


def by_role(pad, unk, cls, sep, mask):
    """Returns the special pieces of a vocabulary by the names of their ids."""
    return {"pad_id": pad, "unk_id": unk, "cls_id": cls, "sep_id": sep, "mask_id": mask}


def was_saved_alone(directory):
    """Returns whether `Tokenizer.save` of this process saved a tokenizer there."""
    return os.path.realpath(directory) in _SAVED_ALONE


class Tokenizer(decoding.IdsAndTokens, abc.ABC):
    """Text to ids, with the official preprocessing.

    Args:
        file_bytes: the contents of the model or vocabulary file.
        pieces: list of str [V], the piece of each id.
        do_lower_case: whether letters are lowered (WordPiece: and accents stripped).
        source: its name in error messages.
        rules: its `TextRules`.

    Attributes:
        kind: "sentencepiece", "wordpiece" or "byte_bpe".
        file_name: name that `save` gives the model or vocabulary file.
        vocab_size, pad_id, unk_id, cls_id, sep_id, mask_id: int.
        layout: the `RowLayout` of the rows that a call makes.
        segmentation: the name of the rule by which one of several equally good
            sequences of pieces is taken; None where there is always one best.

    Raises:
        UserError: the vocabulary lacks one of the special pieces.
    """

    kind = file_name = None
    special_pieces = {}
    # What models need these pieces, and the layout of their rows.
    model_type = "ALBERT"
    usual_layout = CLS_FIRST
    segmentation = None
    added_ids = frozenset()  # of tokens beyond the vocabulary's pieces
    between_tokens = " "  # stands around special tokens in what `decode` returns

    def __init__(self, file_bytes, pieces, do_lower_case, source, rules):
        self.file_bytes = file_bytes
        self.pieces = pieces
        self.do_lower_case = do_lower_case
        self.rules = rules
        self.layout = self.usual_layout
        self._ids = ids = self._ids_of(pieces)
        for attribute, piece in self.special_pieces.items():
            if piece not in ids:
                needed = ", ".join(self.special_pieces.values())
                raise UserError(
                    f"The vocabulary {source} has no piece {piece!r}; "
                    f"{self.model_type} needs {needed}."
                )
            setattr(self, attribute, ids[piece])

    def __reduce__(self):
        return type(self), self._arguments(), {"layout": self.layout}

    def _arguments(self):
        """Returns the constructor's arguments that make an equal tokenizer."""
        return self.file_bytes, self.do_lower_case, "given", self.rules

    def _ids_of(self, pieces):
        """Returns the id of each piece: of equal ones, the first counts."""
        return {piece: index for index, piece in reversed(list(enumerate(pieces)))}

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    def __call__(
        self,
        texts: str | Iterable[str],
        text_pairs: str | Iterable[str] | None = None,
        max_length: int | None = None,
        padding: bool | str = LONGEST,
        truncation: bool | str = True,
        special_tokens_in_text: bool = False,
        text_pair: str | Iterable[str] | None = None,
        return_tensors: str | None = None,
        **others: Any,
    ) -> dict[str, Any]:
        """Makes the features that every model takes.

        Args:
            texts: a str, or a list, an array, a column or an iterator of str.
            text_pairs: the second texts of pairs, like `texts`.
            max_length: the most tokens of a row, special ones included; the longer
                text of a pair loses its end first, or its beginning, if the
                tokenizer's `rules` have the truncation_side "left". None: rows of any
                length.
            padding: "longest" or True, to the longest row; "max_length"; or False, for
                rows of their own lengths.
            truncation: False refuses rows of more than `max_length` tokens; True is
                "longest_first"; "only_first", "only_second" shorten one of a pair.
            special_tokens_in_text: whether a special piece in a text, such as
                "[MASK]", means its id; else it is text like any other, but to
                RoBERTa's tokenizer, for which it always means its id.
            text_pair: another name of `text_pairs`.
            return_tensors: "np", or "tf" for tensors.

        Returns:
            Dict of int32 arrays `[batch, tokens]`; a str is a batch of one. With
            `padding=False` a dict of lists of lists of int.
                input_ids: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`; RoBERTa's are
                    `<s> A </s>` or `<s> A </s></s> B </s>`; XLNet's are
                    `A [SEP] [CLS]` or `A [SEP] B [SEP] [CLS]`, padded on the left
                input_mask: 1 for tokens, 0 for padding
                segment_ids: 1 for B and the `[SEP]` after it, else 0; RoBERTa's are
                    all 0, XLNet's 2 for `[CLS]` and 3 for padding

        Raises:
            UserError: texts that are not str, another number of pairs, a `max_length`
                without room for text, or an unknown `padding`.

        Example:
            model(tokenizer(["a fine film", "dull"], max_length=128))
        """
        refuse_arguments("The tokenizer", others, PARAMETERS)
        if text_pair is not None and text_pairs is not None:
            raise UserError("text_pair and text_pairs are the same; give one.")
        check_return_tensors(return_tensors)
        pairs = text_pairs if text_pair is None else text_pair
        settings = max_length, padding, truncation, special_tokens_in_text
        features = features_of(self, texts, pairs, *settings)
        return as_tensors(features) if return_tensors == "tf" else features

    @abc.abstractmethod
    def join(self, pieces: list[str]) -> str:
        """Returns the text of pieces, none of them special."""

    def prepare(self, text):
        """Returns `text` as it is before it is split; the official `process_text`.

        For SentencePiece that is `normalization.sentencepiece_text`; WordPiece
        normalizes words only.
        """
        return text

    def is_reserved(self, piece):
        """Returns whether a piece cannot be an added token."""
        return piece in self.special_pieces.values()

    def looked_for(self, added):
        """Returns the `AddedToken`s that texts are searched for."""
        return [token for token in added if not self.is_reserved(token.content)]

    def as_word(self, word):
        """Returns a word of a sentence that was cut into words, as it is encoded."""
        return word

    def fold(self, text):
        """Returns `text` in the form in which two spellings of a word are equal."""
        return self.prepare(text)

    @abc.abstractmethod
    def count_stripped(self, text):
        """Returns how many characters of `text` lose an accent or another mark."""

    def tokenize(self, text: str) -> list[str]:
        """Returns the pieces of `text`, a list of str."""
        return [self.pieces[index] for index in self.encode(text)]

    @abc.abstractmethod
    def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encodes many texts at once.

        Args:
            texts: list of str.

        Returns:
            int32 array of all ids in a row, and int32 array [len(texts)] of the
            number of ids of each text. No text yields the id of a special piece
            other than the unknown one, but where it is among the `added_ids`.
        """

    @abc.abstractmethod
    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Returns ids and, for each, its (start, end) in `text`.

        A span covers the characters that the piece stems from, without white
        space around them; it is empty where a piece stems from a space alone.
        """

    @abc.abstractmethod
    def word_starts(self, official: bool = False) -> np.ndarray:
        """Returns bool array [V]: which pieces start a word.

        Args:
            official: by the official rule of the model, which for ALBERT's
                SentencePiece knows words of English letters only; else by one that
                equals it in English and knows the letters of every script. For
                WordPiece both are the same.
        """

    def encode(self, text: str) -> list[int]:
        """Returns the ids of `text`, a list of int.

        Raises:
            UserError: `text` is no str.
        """
        if not isinstance(text, str):
            raise UserError(
                f"text must be a str, got {type(text).__name__}; encode_batch takes "
                "many texts."
            )
        return self.encode_flat([text])[0].tolist()

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Returns a list of ids for each of `texts`, as a call takes them.

        Raises:
            UserError: they are no texts.
        """
        ids, lengths = self.encode_flat(list_of_texts("texts", texts))
        return [part.tolist() for part in np.split(ids, np.cumsum(lengths))[:-1]]

    def laid_out(self, layout):
        """Returns this tokenizer, or another like it, whose rows have a `RowLayout`."""
        if layout == self.layout:
            return self
        twin = type(self)(*self._arguments())
        twin.layout = layout
        return twin

    def settings(self):
        """Returns the entries of `tokenizer_config.json`: a dict for JSON."""
        settings = {"do_lower_case": self.do_lower_case, **self.rules.settings()}
        if self.layout != self.usual_layout:
            settings["row_layout"] = self.layout.name
        return settings

    def save(self, directory: str | os.PathLike) -> None:
        """Writes the model or vocabulary file and `tokenizer_config.json`."""
        with replacing(directory) as new, ChecksummedFolder(new) as folder:
            self.write_into(folder)
        _SAVED_ALONE.add(os.path.realpath(directory))

    def write_into(self, folder):
        """Saves as `save`, beside other files of a `ChecksummedFolder`."""
        config = {"kind": self.kind, "file": self.file_name, **self.settings()}
        folder.write(self.file_name, self.file_bytes)
        folder.write_json(CONFIG_NAME, config)

    def fingerprint(self) -> str:
        """Returns a hexadecimal SHA-256 of all that decides a text's pieces.

        That is the kind, the casing, the rules, the file, and the `segmentation` where
        there is one.
        """
        recorded = {"segmentation": self.segmentation} if self.segmentation else {}
        return self._digest(recorded)

    def earlier_fingerprint(self):
        """Returns the `fingerprint` of versions that recorded no `segmentation`."""
        return self._digest({})

    def _digest(self, recorded):
        lowers = {"do_lower_case": bool(self.do_lower_case)}
        facts = {**lowers, **self.rules.settings(), **recorded}
        facts = " ".join(f"{name}={value}" for name, value in facts.items())
        head = f"{self.kind} {facts}\n".encode()
        return checksums.of_bytes(head + self.file_bytes)
