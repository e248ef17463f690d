"""Reading of SentencePiece models, which may be damaged, or made to do damage.

What the library reads past the end of its memory is refused here: sentencepiece before
0.2.3, and the copy of it in tensorflow-text, trust tables that a model holds.
"""

import math

import numpy as np
import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from albert_tf.errors import UserError

# Sizes of the library's own tables, and of pieces that its later versions take.
_RULES_OF_A_PREFIX = 32
_DEFINED_OF_A_PREFIX = 64
_LONGEST_PIECE = 8000  # bytes


def load(file_bytes, source):
    """Reads a serialized model.

    Args:
        file_bytes: bytes.
        source: its name in error messages.

    Returns:
        Its `SentencePieceProcessor`, and its `ModelProto`.

    Raises:
        UserError: not a SentencePiece model, or one that is damaged.
    """
    model = sentencepiece_model_pb2.ModelProto()
    processor = sentencepiece.SentencePieceProcessor()
    try:
        model.ParseFromString(file_bytes)
        damage = _damage(model)
        if not damage:
            processor.LoadFromSerializedProto(file_bytes)
    except (DecodeError, RuntimeError, ValueError) as error:
        raise UserError(
            f"{source} is not a SentencePiece model; pass the .model file."
        ) from error
    if damage:
        raise UserError(f"{source} is damaged: {damage}; get or train it anew.")
    return processor, model


def _damage(model):
    """Says in a few words what is wrong with a `ModelProto`, or returns None."""
    for piece in model.pieces:
        if not math.isfinite(piece.score):
            return f"the piece {piece.piece!r} has the score {piece.score}"
        if "\0" in piece.piece or len(piece.piece.encode()) >= _LONGEST_PIECE:
            return f"{piece.piece[:20]!r} … is no piece of a text"
    kinds = model.SentencePiece
    nested = []  # each the beginning of the next
    for piece in sorted(
        piece.piece for piece in model.pieces if piece.type == kinds.USER_DEFINED
    ):
        while nested and not piece.startswith(nested[-1]):
            nested.pop()
        nested.append(piece)
        if len(nested) > _DEFINED_OF_A_PREFIX:
            return f"{len(nested)} user-defined pieces begin each other"
    for spec in (model.normalizer_spec, model.denormalizer_spec):
        if spec.precompiled_charsmap and not _is_sound(spec.precompiled_charsmap):
            return "its table of characters (precompiled_charsmap) leads nowhere"
    return None


def _is_sound(table):
    """Returns whether a table of characters keeps within its memory.

    It is the size of an array of units, the array, and texts that end with NUL. A unit
    is a letter of keys, after which the array goes on at another place; the unit of a
    whole key comes before a unit of its value.

    Source: darts.h of darts-clone, and `DecodePrecompiledCharsMap` in normalizer.cc of
    sentencepiece.
    """
    size = int.from_bytes(table[:4], "little")
    if size < 1024 or size % 1024 or size + 4 >= len(table) or table[-1]:
        return False
    units = np.frombuffer(table, "<u4", size // 4, offset=4).astype(np.int64)
    places = np.arange(len(units))
    letters = units & 0x800000FF
    is_value = letters > 0xFF
    following = places ^ ((units >> 10) << ((units & 0x200) >> 6))
    if np.any(following[~is_value] >= len(units)):  # a letter moves within 256 units
        return False
    is_key = (units & 0x100) != 0
    origins = np.where(is_value, -1, places ^ letters)
    order = np.argsort(origins, kind="stable")
    keys = np.full(len(units), -1)  # of the longest way to a unit
    keys[0], now = 0, np.zeros(1, np.int64)
    while len(now) and keys.max() <= _RULES_OF_A_PREFIX:
        first, last = (
            np.searchsorted(origins, following[now], side, sorter=order)
            for side in ("left", "right")
        )
        counts = last - first
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        reached = order[np.repeat(first, counts) + steps]
        found = np.repeat(keys[now], counts) + is_key[reached]
        is_longer = found > keys[reached]
        np.maximum.at(keys, reached, found)
        now = np.unique(reached[is_longer])
    return keys.max() <= _RULES_OF_A_PREFIX
