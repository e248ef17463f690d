"""The files of a byte-level BPE: `vocab.json` and `merges.txt`, or `tokenizer.json`."""

import json

from albert_tf.errors import UserError
from albert_tf.io.text_files import decoded

VOCABULARY, MERGES = "vocab.json", "merges.txt"
_HEADER = "#version"


def _visible_bytes():
    """Returns each byte's visible character, as in GPT-2's `encoder.py`."""
    alike = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in alike]
    characters = {byte: chr(byte) for byte in alike}
    characters |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    return [characters[byte] for byte in range(256)]


CHARACTERS = _visible_bytes()
"""The visible character of each byte."""
BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def bytes_of(piece):
    """Returns a piece's bytes, or None if it is made of other characters."""
    try:
        return bytes(map(BYTES.__getitem__, piece))
    except KeyError:
        return None


class BytePairs:
    """Contents of the files, checked.

    Args:
        vocabulary: `{piece: id}`.
        merges: list of pairs of str.
        source: the files' name in error messages.

    Attributes:
        pieces: list of str `[V]`, in the order of their ids.
        merges: list of two str each, the first one first.

    Raises:
        UserError: ids with gaps or twice, a byte without a piece, or a merge of pieces
            that the vocabulary lacks.
    """

    def __init__(self, vocabulary, merges, source):
        if not isinstance(vocabulary, dict) or not vocabulary:
            raise UserError(f"{source} holds no vocabulary, a JSON object of ids.")
        ids = vocabulary.values()
        if any(type(i) is not int for i in ids) or set(ids) != set(range(len(ids))):
            raise UserError(
                f"{source} must give its {len(vocabulary)} pieces the ids 0 to "
                f"{len(vocabulary) - 1}, each once; copy the file again."
            )
        for byte, character in enumerate(CHARACTERS):
            if character not in vocabulary:
                raise UserError(
                    f"{source} has no piece {character!r} for the byte {byte}; "
                    "albert_tf reads only byte-level vocabularies with all bytes."
                )
        for left, right in merges:
            for piece in (left, right, left + right):
                if piece not in vocabulary:
                    raise UserError(
                        f"{source} merges {left!r} and {right!r}, but {piece!r} is not "
                        "in the vocabulary; put both files there that belong together."
                    )
        self.pieces = sorted(vocabulary, key=vocabulary.get)
        self.merges = [*map(tuple, merges)]

    def file_bytes(self):
        """Writes a `tokenizer.json` with nothing but the vocabulary and its merges."""
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
                "vocab": {piece: index for index, piece in enumerate(self.pieces)},
                "merges": self.merges,
            },
        }
        return json.dumps(content, ensure_ascii=False).encode()

    def two_files(self):
        """Writes the contents of `vocab.json` and `merges.txt`: bytes by name."""
        ids = {piece: index for index, piece in enumerate(self.pieces)}
        lines = [f"{_HEADER}: 0.2", *(" ".join(pair) for pair in self.merges)]
        return {
            VOCABULARY: json.dumps(ids, ensure_ascii=False).encode(),
            MERGES: "".join(f"{line}\n" for line in lines).encode(),
        }


def read_two_files(vocabulary, merges, path):
    """Reads the `BytePairs` of a `vocab.json` at `path` and the `merges.txt` beside it.

    Raises:
        UserError: one of them is damaged, or they do not belong together.
    """
    beside = f"{MERGES} beside {path}"
    try:
        pieces = json.loads(vocabulary)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is no JSON of pieces ({error}); copy the file again."
        ) from error
    lines = decoded(beside, merges).replace("\r\n", "\n").split("\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        if not line or (number == 1 and line.startswith(_HEADER)):
            continue
        pair = line.split(" ")
        if len(pair) != 2:
            raise UserError(
                f"Line {number} of the {beside} is {line!r}, expected two pieces with "
                "a space between; copy the file again."
            )
        pairs.append(pair)
    return BytePairs(pieces, pairs, path)


def pairs_of(model, path):
    """Reads the `BytePairs` of the model, a dict, in a `tokenizer.json`."""
    merges = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    if any(len(pair) != 2 for pair in merges):
        raise ValueError("a merge is no pair")
    return BytePairs(model["vocab"], merges, path)
