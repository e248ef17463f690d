"""The base of all tokenizers, and the rules by which they prepare texts."""

import abc
import dataclasses
import itertools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.io.near_misses import unknown_attribute
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tokenization.added_tokens import AddedTokens
from albert_tf.tokenization.added_tokens import pieces_with
from albert_tf.tokenization.features import LONGEST
from albert_tf.tokenization.features import PARAMETERS
from albert_tf.tokenization.features import encode_around
from albert_tf.tokenization.features import features_of
from albert_tf.tokenization.features import flat_ids
from albert_tf.tokenization.features import list_of_texts
from albert_tf.tokenization.features import rows_of

CONFIG_NAME = "tokenizer_config.json"
# 9 of 20,969 paragraphs of Wikipedia, 34 of 3,253,225 tokens.
_UNRECORDED = (
    "it was begun before albert_tf recorded which of several equally good sequences of "
    "pieces a text becomes; about one English paragraph in 2,000 may have been cut "
    "into other pieces than it is now"
)
_UNSORTED = (
    "it was begun before fingerprints sorted added tokens; its pieces are the same"
)

# Folders into which this process saved a tokenizer without a model.
_SAVED_ALONE = set()


@dataclasses.dataclass(frozen=True)
class TextRules:
    """Departures from the official preparation of a text.

    `tokenizer_config.json` records them under these names.

    Attributes:
        joins_quotes: whether two grave accents, or two apostrophes, become one
            quotation mark, before SentencePiece; None: for XLNet's vocabularies only.
        counts_lines: whether the id of a WordPiece is the number of its line, the last
            one of equal lines, not the number of different lines before it.
        keep_accents: whether accents, vowel signs and other combining characters stay
            before SentencePiece; None: as the vocabulary's file says.
        strip_accents: whether WordPiece drops them; None: if it lowers letters.
        as_tokenizers: whether to read texts like the package tokenizers, and thus
            transformers 5. Letters are lowered one by one (a final sigma becomes an
            ordinary one). WordPiece drops private characters, and words of more than
            100 characters are unknown. SentencePiece keeps "1974," whole, drops
            non-combining marks along with accents, and first finds its user-defined
            pieces in texts.
        add_prefix_space: whether byte-level BPE puts a space before a text that does
            not begin with one, so that its first word is encoded like any other.
        composes: whether byte-level BPE first composes characters (Unicode's NFC).
        truncation_side: "left" if texts that are too long lose their beginning, "right"
            if they lose their end.
    """

    joins_quotes: bool | None = None
    counts_lines: bool = False
    keep_accents: bool | None = None
    strip_accents: bool | None = None
    as_tokenizers: bool = False
    add_prefix_space: bool = False
    composes: bool = False
    truncation_side: str = "right"

    @property
    def keeps_ends(self):
        """True if texts that are too long keep their end."""
        return self.truncation_side == "left"

    def settings(self):
        """Returns the entries of `tokenizer_config.json`: a dict for JSON."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }


OFFICIAL = TextRules()


def read_rules(settings, path):
    """Reads the rules from the entries of a `tokenizer_config.json`, at `path`.

    Raises:
        UserError: a rule is neither true nor false, or not a side.
    """
    names = [field.name for field in dataclasses.fields(TextRules)]
    # Hugging Face writes null for an unset rule.
    found = {n: settings[n] for n in names if settings.get(n) is not None}
    for name, value in found.items():
        is_side = name == "truncation_side"
        if value not in ("left", "right") if is_side else type(value) is not bool:
            expected = "'left' or 'right'" if is_side else "true or false"
            raise UserError(f"{path} sets {name} to {value!r}, expected {expected}.")
    return TextRules(**found)


class WordCache(dict):
    """A cache of a function's results by word, emptied when it is full.

    It does not keep long words, which seldom recur.
    """

    WORDS = 262_144
    LONGEST = 64  # characters

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, word):
        found = self._function(word)
        if len(word) <= self.LONGEST:
            if len(self) >= self.WORDS:
                self.clear()
            self[word] = found
        return found


def by_role(pad, unk, cls, sep, mask):
    """Returns a vocabulary's special pieces by the names of their ids."""
    return {"pad_id": pad, "unk_id": unk, "cls_id": cls, "sep_id": sep, "mask_id": mask}


def was_saved_alone(directory):
    """Returns whether `Tokenizer.save` of this process saved a tokenizer there."""
    return os.path.realpath(directory) in _SAVED_ALONE


class Tokenizer(abc.ABC):
    """Text to ids and back, with the official preprocessing.

    Args:
        file_bytes: the contents of the model or vocabulary file.
        pieces: list of str [V], the piece of each id.
        do_lower_case: whether to lower letters (and, in WordPiece, strip accents).
        source: its name in error messages.
        rules: its `TextRules`.

    Attributes:
        kind: "sentencepiece", "wordpiece" or "byte_bpe".
        file_name: the name under which `save` writes the model or vocabulary file.
        vocab_size, pad_id, unk_id, cls_id, sep_id, mask_id: int.
        layout: the `RowLayout` of the rows that a call makes.
        added: the `AddedTokens` to find in texts, or None.
        segmentation: the name of the rule for ties between sequences of pieces; None if
            there are no ties.

    Raises:
        UserError: the vocabulary lacks one of the special pieces.
    """

    kind = file_name = None
    special_pieces = {}
    # The models that use these pieces.
    model_type = "ALBERT"
    usual_layout = CLS_FIRST
    segmentation = None
    added = None
    between_tokens = " "  # surrounds special tokens in the result of `decode`

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
        added = self.added and self.added.tokens
        arguments = self.do_lower_case, "given", self.rules
        return _unpickled, (type(self), self.file_bytes, arguments, self.layout, added)

    def with_file(self, file_bytes):
        """Returns a copy with another model or vocabulary file."""
        made, (own_class, _, *others) = self.__reduce__()
        return made(own_class, file_bytes, *others)

    def __getattr__(self, name: str) -> Any:
        """Resolves other names of special pieces and ids, such as `mask_token_id`."""
        attribute = name.replace("_token", "", 1).removesuffix("_id") + "_id"
        if "_token" in name and attribute in self.special_pieces:
            if name.endswith("_id"):
                return getattr(self, attribute)
            return self.special_pieces[attribute]
        raise AttributeError(unknown_attribute("The tokenizer", name))

    def _ids_of(self, pieces):
        """Returns a dict from piece to id; the first of equal pieces counts."""
        return {piece: index for index, piece in reversed(list(enumerate(pieces)))}

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    def get_vocab(self) -> dict[str, int]:
        """Returns the id of each piece, a dict."""
        return dict(self._ids)

    @property
    def vocab(self) -> dict[str, int]:
        return self.get_vocab()

    @property
    def all_special_ids(self) -> list[int]:
        return [getattr(self, attribute) for attribute in self.special_pieces]

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of the special pieces, by piece."""
        pieces = self.special_pieces.values()
        return dict(zip(pieces, self.all_special_ids, strict=True))

    @property
    def added_ids(self) -> frozenset[int]:
        """The ids of the added tokens."""
        return self.added.ids if self.added else frozenset()

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
            max_length: the maximal number of tokens in a row, including special ones;
                the longer text of a pair first loses its end, or its beginning if the
                `rules` have the truncation_side "left". None for any length.
            padding: "longest" or True, to the longest row; "max_length"; or False, for
                rows of different lengths.
            truncation: False refuses rows of more than `max_length` tokens; True is
                "longest_first"; "only_first", "only_second" shorten one of a pair.
            special_tokens_in_text: whether a special piece in a text, such as
                "[MASK]", means its id; otherwise it is ordinary text, except that in
                RoBERTa's tokenizer it always means its id.
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
            UserError: texts that are not str, a different number of second texts, a
                `max_length` without room for text, or an unknown `padding`.

        Example:
            model(tokenizer(["a fine film", "dull"], max_length=128))
        """
        refuse_arguments("The tokenizer", others, PARAMETERS)
        if text_pair is not None and text_pairs is not None:
            raise UserError("text_pair and text_pairs are the same; give one.")
        pairs = text_pairs if text_pair is None else text_pair
        settings = max_length, padding, truncation, special_tokens_in_text
        return features_of(self, texts, pairs, *settings, return_tensors)

    # Each kind of tokenizer implements these for texts without added tokens.

    @abc.abstractmethod
    def _encode_flat(self, texts):
        """Computes `encode_flat`."""

    @abc.abstractmethod
    def _encode_with_offsets(self, text):
        """Computes `encode_with_offsets`."""

    def _tokenize(self, text):
        return [self.pieces[index] for index in self._encode_flat([text])[0]]

    @abc.abstractmethod
    def join(self, pieces: list[str]) -> str:
        """Joins pieces, none of them special, to a text."""

    @abc.abstractmethod
    def count_stripped(self, text):
        """Returns how many characters of `text` lose an accent or another mark."""

    @abc.abstractmethod
    def _starts_word(self, piece, official):
        """Returns whether a piece starts a word; see `word_starts`."""

    def prepare(self, text):
        """Prepares `text` for splitting; the official `process_text`.

        For SentencePiece this is `normalization.sentencepiece_text`; WordPiece only
        normalizes words.
        """
        return text

    def as_word(self, word):
        """Returns the text to encode for a word inside a sentence."""
        return word

    def fold(self, text):
        """Maps `text` to a form in which equivalent spellings are equal."""
        return self.prepare(text)

    def is_reserved(self, piece):
        """Returns whether a piece cannot be an added token."""
        return piece in self.special_pieces.values()

    def looked_for(self, added):
        """Returns the `AddedToken`s to find in texts."""
        return [token for token in added if not self.is_reserved(token.content)]

    def tokenize(self, text: str) -> list[str]:
        """Returns the pieces of `text`, a list of str."""
        if self.added is None:
            return self._tokenize(text)
        found = []
        for index, (_, part) in enumerate(self.added.split(text)):
            is_added = index % 2
            piece = self.pieces[self.added.id_of(part)] if is_added else None
            found += [piece] if is_added else self._tokenize(part)
        return found

    def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encodes many texts at once.

        Args:
            texts: list of str.

        Returns:
            int32 array of the concatenated ids, and int32 array [len(texts)] of the
            number of ids of each text. No text yields the id of a special piece, except
            the unknown one and `added_ids`.
        """
        if self.added is None:
            return self._encode_flat(texts)
        rows = [[part for _, part in self.added.split(text)] for text in texts]
        return flat_ids(encode_around(self._encode_flat, rows, self.added.id_of))

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Returns ids and, for each, its (start, end) in `text`.

        A span covers the characters that the piece stems from, without white
        space around them; it is empty where a piece stems from a space alone.
        """
        if self.added is None:
            return self._encode_with_offsets(text)
        ids, spans = [], []
        for index, (begin, part) in enumerate(self.added.split(text)):
            if index % 2:
                found, places = [self.added.id_of(part)], [(0, len(part))]
            else:
                found, places = self._encode_with_offsets(part)
            ids += found
            spans += [(begin + start, begin + end) for start, end in places]
        return ids, spans

    def encode(self, text: str) -> list[int]:
        """Returns the ids of `text`, a list of int.

        Raises:
            UserError: `text` is not a str.
        """
        if not isinstance(text, str):
            raise UserError(
                f"text must be a str, got {type(text).__name__}; encode_batch takes "
                "many texts."
            )
        return self.encode_flat([text])[0].tolist()

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Returns a list of ids for each of `texts`, which are as in a call.

        Raises:
            UserError: the values are not texts.
        """
        return rows_of(*self.encode_flat(list_of_texts("texts", texts)))

    def word_starts(self, official: bool = False) -> np.ndarray:
        """Marks pieces that start a word, bool array [V]; added tokens do.

        Args:
            official: whether to follow the model's official rule, which in ALBERT's
                SentencePiece only knows English letters. The other rule equals it in
                English and knows the letters of every script. In WordPiece the two are
                the same.
        """
        added = self.added_ids
        starts = [
            index in added or self._starts_word(piece, official)
            for index, piece in enumerate(self.pieces)
        ]
        return np.array(starts, np.bool_)

    def decode(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the text of ids, in lower case and with single spaces.

        Byte-level BPE returns the original text, except for characters with missing
        ids.

        Args:
            ids: ints `[tokens]` or `[batch, tokens]`; rows may differ in length.
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
        skipped = self.special_ids.keys() - {unknown}
        alone = {*skipped, unknown, *(self.pieces[index] for index in self.added_ids)}
        dropped = skipped if skip_special_tokens else set()
        tokens, parts = self.convert_ids_to_tokens(ids), []
        for is_alone, run in itertools.groupby(tokens, alone.__contains__):
            if is_alone:
                parts += [token for token in run if token not in dropped]
            else:
                parts.append(self.join(list(run)))
        return self.between_tokens.join(part for part in parts if part)

    def batch_decode(
        self, ids: Iterable[Any], skip_special_tokens: bool = False
    ) -> list[str]:
        """Returns a list of str; see `decode`."""
        return [self.decode(row, skip_special_tokens) for row in ids]

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """Returns the piece of an int, or a list of pieces for ints `[tokens]`.

        Raises:
            UserError: an id outside the vocabulary.
        """
        ids = np.asarray(ids)
        if ids.ndim > 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise UserError(f"ids must be an int or a list of int, got {ids!r}.")
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
        """Returns the id of a piece, or a list of ids; unknown pieces get `unk_id`.

        Raises:
            UserError: a token that is not a str.
        """
        if isinstance(tokens, str):
            return self._ids.get(tokens, self.unk_id)
        tokens = list_of_texts("tokens", tokens)
        return [self._ids.get(token, self.unk_id) for token in tokens]

    def laid_out(self, layout):
        """Returns a copy with another `RowLayout`."""
        return self if layout == self.layout else self._twin(layout=layout)

    def with_added(self, tokens, source="given"):
        """Returns a copy whose vocabulary has more `AddedToken`s.

        Raises:
            UserError: ids that neither follow the vocabulary's nor name a piece of it;
                the message calls the list of tokens `source`.
        """
        twin = self.looking_for(tokens)
        twin.pieces = pieces_with(self.pieces, tokens, source)
        twin._ids = {**self._ids, **{token.content: token.id for token in tokens}}
        return twin

    def looking_for(self, tokens):
        """Returns a copy that finds more `AddedToken`s in texts.

        The tokens need not be pieces of its vocabulary.
        """
        known = self.added.tokens if self.added else ()
        return self._twin(added=AddedTokens([*known, *tokens], self.fold))

    def _twin(self, **changes):
        twin = object.__new__(type(self))
        vars(twin).update({**vars(self), **changes})
        return twin

    def settings(self):
        """Returns the entries of `tokenizer_config.json`: a dict for JSON."""
        settings = {"do_lower_case": self.do_lower_case, **self.rules.settings()}
        if self.layout != self.usual_layout:
            settings["row_layout"] = self.layout.name
        if self.added:
            settings["added_tokens"] = [token._asdict() for token in self.added.tokens]
        return settings

    def save(self, directory: str | os.PathLike) -> None:
        """Writes the model or vocabulary file and `tokenizer_config.json`."""
        with replacing(directory) as new, ChecksummedFolder(new) as folder:
            self.write_into(folder)
        _SAVED_ALONE.add(os.path.realpath(directory))

    def write_into(self, folder):
        """Writes the files of `save` into an open `ChecksummedFolder`."""
        config = {"kind": self.kind, "file": self.file_name, **self.settings()}
        folder.write(self.file_name, self.file_bytes)
        folder.write_json(CONFIG_NAME, config)

    def fingerprint(self) -> str:
        """Returns a hexadecimal SHA-256 of everything that determines a text's pieces.

        It covers the kind, the casing, the rules, the file, the added tokens, and the
        `segmentation` if there is one.
        """
        by_id = sorted(self.added.tokens, key=lambda t: t.id) if self.added else ()
        return self._digest(by_id, self._segmentation_facts())

    def earlier_fingerprints(self):
        """Returns the fingerprints that earlier versions recorded, and warnings.

        It is a dict from `fingerprint` to the warning about it.
        """
        tokens = self.added.tokens if self.added else ()
        return {
            self._digest(tokens, {}): _UNRECORDED,
            self._digest(tokens, self._segmentation_facts()): _UNSORTED,
        }

    def _segmentation_facts(self):
        return {"segmentation": self.segmentation} if self.segmentation else {}

    def _digest(self, added, recorded):
        lowers = {"do_lower_case": bool(self.do_lower_case)}
        facts = {**lowers, **self.rules.settings(), **recorded}
        facts = " ".join(f"{name}={value}" for name, value in facts.items())
        head = f"{self.kind} {facts}\n".encode()
        digest = checksums.of_bytes(head + self.file_bytes)
        if not added:
            return digest
        tokens = [f"\n{t.id} {t.normalized} {t.content!r}" for t in added]
        return checksums.of_bytes("".join([digest, *tokens]).encode())


def _unpickled(tokenizer_class, file_bytes, arguments, layout, added):
    tokenizer = tokenizer_class(file_bytes, *arguments).laid_out(layout)
    return tokenizer if added is None else tokenizer.with_added(added)
