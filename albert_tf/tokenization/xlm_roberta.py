"""XLM-R's `sentencepiece.bpe.model`, whose ids fairseq moves.

fairseq begins its vocabulary with `<s> <pad> </s> <unk>` where the file has `<unk> <s>
</s>`, and adds `<mask>` at the end.
"""

from albert_tf.errors import UserError
from albert_tf.tokenization import sentencepiece_file

FILE = "sentencepiece.bpe.model"
"""The usual name of the file."""

_OF_FILE = ("<unk>", "<s>", "</s>")
_FIRST, _LAST = ("<s>", "<pad>", "</s>", "<unk>"), "<mask>"


def with_fairseq_ids(file_bytes, source):
    """Makes a SentencePiece model whose ids are fairseq's.

    Args:
        file_bytes: the contents of a `sentencepiece.bpe.model`.
        source: its name in messages.

    Raises:
        UserError: the file does not begin like XLM-R's.
    """
    _, model = sentencepiece_file.load(file_bytes, source)
    first, others = _cut(model, len(_OF_FILE), len(model.pieces))
    if first != _OF_FILE:
        raise UserError(
            f"{source} begins with the pieces {', '.join(first)}, XLM-R's file with "
            f"{', '.join(_OF_FILE)}; put the file there that the model came with."
        )
    return _joined(model, _FIRST, others, [_LAST])


def is_released_form(tokenizer):
    """Returns whether a tokenizer is XLM-R's, and no new pieces follow its mask."""
    if tokenizer.model_type != "XLM-R":
        return False
    _, model = sentencepiece_file.load(tokenizer.file_bytes, FILE)
    return model.pieces[-1].piece == _LAST


def without_fairseq_ids(file_bytes):
    """Reverts `with_fairseq_ids`.

    Raises:
        UserError: the pieces are not in fairseq's order.
    """
    _, model = sentencepiece_file.load(file_bytes, FILE)
    first, others = _cut(model, len(_FIRST), len(model.pieces) - 1)
    if (first, model.pieces[-1].piece) != (_FIRST, _LAST):
        raise UserError(
            f"The vocabulary begins with the pieces {', '.join(first)}, XLM-R's with "
            f"{', '.join(_FIRST)}, and ends with {_LAST}: write a model directory."
        )
    return _joined(model, _OF_FILE, others, [])


def _cut(model, start, end):
    """Returns the first pieces as a tuple of str, and those from `start` to `end`."""
    first = tuple(piece.piece for piece in model.pieces[:start])
    return first, [*model.pieces[start:end]]


def _joined(model, first, others, last):
    changed = sentencepiece_file.ModelProto()
    changed.CopyFrom(model)
    del changed.pieces[:]
    types = {"<unk>": sentencepiece_file.UNKNOWN}
    for piece in first:
        changed.pieces.add(
            piece=piece, score=0, type=types.get(piece, sentencepiece_file.CONTROL)
        )
    changed.pieces.extend(others)
    for piece in last:
        changed.pieces.add(piece=piece, score=0, type=sentencepiece_file.CONTROL)
    return changed.SerializeToString()
