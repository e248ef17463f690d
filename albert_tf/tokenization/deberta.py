"""DeBERTa's `spm.model`, after whose pieces its programs add `[MASK]`."""

from albert_tf.tokenization import sentencepiece_file

FILE = "spm.model"
"""The usual name of the file."""

PIECES = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
"""The first pieces, by which the model is known."""
_LAST = "[MASK]"


def with_mask(file_bytes, source):
    """Adds `[MASK]` to DeBERTa's SentencePiece model; returns other models unchanged.

    Args:
        file_bytes: the contents of a file.
        source: its name in messages.
    """
    _, model = sentencepiece_file.load(file_bytes, source)
    pieces = [piece.piece for piece in model.pieces]
    if (*pieces[: len(PIECES)],) != PIECES or _LAST in pieces:
        return file_bytes
    type_ = sentencepiece_file.CONTROL
    model.pieces.add(piece=_LAST, score=0, type=type_)
    return model.SerializeToString()


def without_mask(file_bytes):
    """Reverts `with_mask`."""
    _, model = sentencepiece_file.load(file_bytes, FILE)
    if model.pieces[-1].piece == _LAST:
        del model.pieces[-1]
    return model.SerializeToString()
