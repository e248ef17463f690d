"""Trains SentencePiece models, and reads those that may be damaged or malicious.

sentencepiece before 0.2.3, and its copy in tensorflow-text, trust the tables in a model
and may read past the end of their memory; this module refuses models that cause it.
"""

import io
import math

import numpy as np
import sentencepiece
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from albert_tf.errors import UserError

# Sizes of the library's own tables, and of pieces that its later versions take.
_RULES_OF_A_PREFIX = 32
_DEFINED_OF_A_PREFIX = 64
_LONGEST_PIECE = 8000  # bytes
EXACT_STEP = 2**-10
"""Sums of scores that are multiples of it are exact in every precision, up to some
1,600 pieces: no rounding breaks a tie between them."""

# The fields of the messages that are read here, by number. The library's own classes
# need a recent protobuf, which TensorFlow may not support.
_FIELDS = {
    "Piece": {"piece": (1, "STRING"), "score": (2, "FLOAT"), "type": (3, "Type")},
    "Trainer": {"model_type": (3, "Method"), "byte_fallback": (35, "BOOL")},
    "Normalizer": {"name": (1, "STRING"), "precompiled_charsmap": (2, "BYTES")},
    "Model": {
        "pieces": (1, "Piece", "REPEATED"),
        "trainer_spec": (2, "Trainer"),
        "normalizer_spec": (3, "Normalizer"),
        "denormalizer_spec": (5, "Normalizer"),
    },
    "Place": {"id": (2, "UINT32"), "begin": (4, "UINT32"), "end": (5, "UINT32")},
    "Text": {"pieces": (2, "Place", "REPEATED")},
}
_NUMBERED = {
    "Type": ("NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "UNUSED", "BYTE"),
    "Method": ("UNIGRAM", "BPE", "WORD", "CHAR"),
}
_PACKAGE = "albert_tf.sentencepiece"


def _message_types():
    """Makes the classes of `_FIELDS`: a dict by their full names."""
    file = descriptor_pb2.FileDescriptorProto(
        name=_PACKAGE, package=_PACKAGE, syntax="proto2"
    )
    for name, values in _NUMBERED.items():
        found = file.enum_type.add(name=name)
        for number, value in enumerate(values, start=1):
            found.value.add(name=value, number=number)
    for message, fields in _FIELDS.items():
        found = file.message_type.add(name=message)
        for name, (number, type_, *label) in fields.items():
            label = f"LABEL_{(label or ['OPTIONAL'])[0]}"
            field = found.field.add(name=name, number=number, label=label)
            if type_ in _FIELDS or type_ in _NUMBERED:
                field.type = field.TYPE_MESSAGE if type_ in _FIELDS else field.TYPE_ENUM
                field.type_name = f".{_PACKAGE}.{type_}"
            else:
                field.type = getattr(field, f"TYPE_{type_}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClassesForFiles([_PACKAGE], pool)


_TYPES = _message_types()
ModelProto = _TYPES[f"{_PACKAGE}.Model"]
SentencePieceText = _TYPES[f"{_PACKAGE}.Text"]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)


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
    model = ModelProto()
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


def train(texts, **settings):
    """Trains a model on an iterable of str; returns its bytes."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(texts), model_writer=writer, minloglevel=1, **settings
    )
    return writer.getvalue()


def reason_of(error):
    """Returns why `train` failed, without the place in SentencePiece's code."""
    return " ".join(str(error).split()).rpartition("] ")[-1]


def _damage(model):
    """Describes what is wrong with a `ModelProto`; returns None if it is sound."""
    for piece in model.pieces:
        if not math.isfinite(piece.score):
            return f"the piece {piece.piece!r} has the score {piece.score}"
        if "\0" in piece.piece or len(piece.piece.encode()) >= _LONGEST_PIECE:
            return f"{piece.piece[:20]!r} … is no piece of a text"
    nested = []  # each the beginning of the next
    for piece in sorted(p.piece for p in model.pieces if p.type == USER_DEFINED):
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
    """Returns whether lookups in a table of characters stay within its memory.

    A table is the size of an array of units, the array, and texts that end with NUL. A
    unit is a letter of keys, after which the array continues at another place; the unit
    of a whole key precedes a unit of its value.

    Source: darts.h of darts-clone, and `DecodePrecompiledCharsMap` in normalizer.cc of
    sentencepiece.
    """
    size = _size_of(table)
    if not size or size % 1024 or size + 4 >= len(table) or table[-1]:
        return False
    units = np.frombuffer(table, "<u4", size // 4, offset=4).astype(np.int64)
    places = np.arange(len(units))
    letters = units & 0x800000FF
    is_value = letters > 0xFF
    following = places ^ _offset(units)
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


def _size_of(table):
    """Returns the number of bytes of a table's array."""
    return int.from_bytes(table[:4], "little")


def _offset(unit):
    """Returns where a table continues after a unit, relative to its place (XOR)."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def without_rules(model, characters, name):
    """Returns a model, bytes, without its rules for some characters.

    Its normalization gets a name.
    """
    changed = ModelProto.FromString(model)
    spec = changed.normalizer_spec
    spec.name = name
    for character in characters:
        spec.precompiled_charsmap = _without_rule(spec.precompiled_charsmap, character)
    return changed.SerializeToString()


def for_every_library(model, table=None):
    """Returns a model, bytes, that all libraries read alike.

    Its scores are rounded to multiples of `EXACT_STEP`; with `table`, the bytes of
    another model, it gets that model's normalization.
    """
    changed = ModelProto.FromString(model)
    for piece in changed.pieces:
        piece.score = round(piece.score / EXACT_STEP) * EXACT_STEP
    if table is not None:
        spec = ModelProto.FromString(table).normalizer_spec
        changed.normalizer_spec.name = spec.name
        changed.normalizer_spec.precompiled_charsmap = spec.precompiled_charsmap
    return changed.SerializeToString()


def _without_rule(table, character):
    """Returns a table of characters without the rule for one character, if any."""
    size = _size_of(table)
    units = np.frombuffer(table, "<u4", size // 4, offset=4).copy()
    place = 0
    for byte in character.encode():
        place ^= int(_offset(units[place])) ^ byte
        if units[place] & 0x800000FF != byte:
            return table
    units[place] &= ~np.uint32(0x100)  # no longer the end of a key
    return table[:4] + units.tobytes() + table[4 + size :]
