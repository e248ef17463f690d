"""Choice among equally good sequences of pieces of a text, and the pieces' places.

A unigram model takes the sequence with the best sum of scores. Where two sums are equal
("ee" and "e", or "e" and "ee"), rounding decides, and so the order in which a program
adds. tensorflow-text, and so every exported model, adds as sentencepiece did up to
0.2.1, with which the released models were made; 0.2.2 and later round otherwise.
"""

import functools

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from sentencepiece import sentencepiece_pb2

from albert_tf.errors import UserError

SEGMENTATION = "sentencepiece 0.2.1"
"""The name of the order that this package demands, in fingerprints of vocabularies."""

# The scores of the released English models.
_PROBE = {
    "\u2581": -2.1889710426330566,
    "e": -6.562606334686279,
    "ee": -10.232965469360352,
    "d": -5.900000095367432,
    "dd": -10.699999809265137,
    "1": -6.099999904632568,
}
_EXPECTED = {
    "eee": "\u2581 ee e",
    "eeeeeee": "\u2581 ee ee ee e",
    "1eedd": "\u2581 1 ee dd",
    "1eeddd": "\u2581 1 ee dd d",
    "1eeeddd": "\u2581 1 ee e dd d",
}


@functools.cache
def check_library():
    """Checks that the installed sentencepiece cuts texts as exported models do.

    Raises:
        UserError: it takes others of several equally good sequences of pieces.
    """
    if not _cuts_as_expected():
        raise UserError(
            f"The installed sentencepiece {sentencepiece.__version__} cuts some texts "
            "into other pieces than exported models do; install another with pip "
            "install 'sentencepiece>=0.2.0,<0.2.2'."
        )


def _cuts_as_expected():
    model = sentencepiece_model_pb2.ModelProto()
    # A table that changes nothing: without one, the library writes a line to stderr.
    table = (1024).to_bytes(4, "little") + bytes(1024 + 1)
    model.normalizer_spec.precompiled_charsmap = table
    model.pieces.add(piece="<unk>", type=model.SentencePiece.UNKNOWN)
    for piece, score in _PROBE.items():
        model.pieces.add(piece=piece, score=score)
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model.SerializeToString())
    except RuntimeError:
        return False  # 0.2.3 takes no such table.
    return all(
        processor.EncodeAsPieces(text) == pieces.split()
        for text, pieces in _EXPECTED.items()
    )


def has_ties(file_bytes):
    """Returns whether a serialized SentencePiece model adds scores, as unigram models.

    Others (BPE, words, characters) merge in an order that all versions share.
    """
    spec = sentencepiece_model_pb2.ModelProto.FromString(file_bytes).trainer_spec
    return spec.model_type == spec.UNIGRAM


def places(processor, text):
    """Finds the pieces of a text by a `SentencePieceProcessor`, and their places.

    Returns:
        A list of (id, start, end), in characters of the text; each piece begins where
        the one before it ends.
    """
    # The library's own objects take four times as long to read.
    answer = processor.Encode(text, out_type="serialized_proto")
    pieces = sentencepiece_pb2.SentencePieceText.FromString(answer).pieces
    found = [(piece.id, piece.begin, piece.end) for piece in pieces]
    if text.isascii():
        return found
    begins = (np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80
    before = [0, *np.cumsum(begins).tolist()]  # characters that begin before a byte
    return [(index, before[start], before[end]) for index, start, end in found]
