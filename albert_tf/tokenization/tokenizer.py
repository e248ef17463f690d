"""What the SentencePiece and the WordPiece tokenizer have in common."""

import abc
import hashlib
import json
import os

import numpy as np

from albert_tf.errors import UserError
from albert_tf.files import write_atomically

CONFIG_NAME = "tokenizer_config.json"


class Tokenizer(abc.ABC):
    """Text to ids, with the official preprocessing.

    Args:
        file_name: name that `save` gives the model or vocabulary file.
        file_bytes: the contents of that file.
        pieces: list of str [V], the piece of each id.
        do_lower_case: whether letters are lowered (and accents stripped, for
            WordPiece).
        source: what an error message calls this tokenizer.

    Attributes:
        kind: "sentencepiece" or "wordpiece".
        vocab_size, pad_id, unk_id, cls_id, sep_id, mask_id: int.

    Raises:
        UserError: the vocabulary lacks one of the special pieces.
    """

    kind = None
    special_pieces = {}

    def __init__(self, file_name, file_bytes, pieces, do_lower_case, source):
        self.file_name = file_name
        self.file_bytes = file_bytes
        self.pieces = pieces
        self.do_lower_case = do_lower_case
        ids = {piece: index for index, piece in reversed(list(enumerate(pieces)))}
        for attribute, piece in self.special_pieces.items():
            if piece not in ids:
                raise UserError(
                    f"The vocabulary {source} has no piece {piece!r}; ALBERT needs "
                    f"{', '.join(self.special_pieces.values())}."
                )
            setattr(self, attribute, ids[piece])

    def __reduce__(self):
        return type(self), (self.file_bytes, self.do_lower_case)

    @property
    def vocab_size(self):
        return len(self.pieces)

    @abc.abstractmethod
    def tokenize(self, text):
        """Returns the pieces of `text`, a list of str."""

    @abc.abstractmethod
    def encode_flat(self, texts):
        """Encodes many texts at once.

        Args:
            texts: list of str.

        Returns:
            int32 array of all ids in a row, and int32 array [len(texts)] of the
            number of ids of each text. No text yields the id of a special piece
            other than the unknown one.
        """

    @abc.abstractmethod
    def encode_with_offsets(self, text):
        """Returns ids and, for each, its (start, end) in `text`.

        A span covers the characters that the piece stems from, without white
        space around them; it is empty where a piece stems from a space alone.
        """

    @abc.abstractmethod
    def word_starts(self):
        """Returns bool array [V]: which pieces start a word (official rule)."""

    def encode(self, text):
        """Returns the ids of `text`, a list of int."""
        return self.encode_flat([text])[0].tolist()

    def encode_batch(self, texts):
        """Returns a list of ids for each of `texts`."""
        ids, lengths = self.encode_flat(list(texts))
        return [part.tolist() for part in np.split(ids, np.cumsum(lengths))[:-1]]

    def save(self, directory):
        """Writes the model or vocabulary file and `tokenizer_config.json`."""
        config = {
            "kind": self.kind,
            "file": self.file_name,
            "do_lower_case": self.do_lower_case,
        }
        text = json.dumps(config, indent=2) + "\n"
        write_atomically(os.path.join(directory, self.file_name), self.file_bytes)
        write_atomically(os.path.join(directory, CONFIG_NAME), text.encode())

    def fingerprint(self):
        """Returns a hexadecimal SHA-256 of the kind, the casing and the file."""
        head = f"{self.kind} do_lower_case={bool(self.do_lower_case)}\n".encode()
        return hashlib.sha256(head + self.file_bytes).hexdigest()
