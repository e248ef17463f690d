"""Additions of SentencePieceTokenizer to SentencePiece."""

import math
import random
from functools import partial

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.sentencepiece_file import ModelProto
from tests.vocabularies import tie_pieces


def test_raw_text_never_gives_special_ids(small, train_model):
    symbols = ["[CLS]", "[SEP]", "[MASK]", "<pad>x"]
    defined = train_model(control_symbols=[], user_defined_symbols=symbols)
    text = "[CLS] a [SEP] b [MASK] <pad> <unk>"
    for own in (small, SentencePieceTokenizer(defined, do_lower_case=False)):
        ids = own.encode(text)
        assert not {own.pad_id, own.cls_id, own.sep_id, own.mask_id} & set(ids)
        assert ids == own.encode_with_offsets(text)[0]


def test_garbage_is_refused():
    with pytest.raises(UserError, match="not a SentencePiece model"):
        SentencePieceTokenizer(b"\xff\x00garbage")


def _damaged(change):
    model = ModelProto.FromString(tie_pieces())
    change(model)
    return model.SerializeToString()


def _table(units, texts=b"\0"):
    """Serializes a table of characters whose first units are given."""
    units = [*units, *[0] * (256 - len(units))]
    array = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(array).to_bytes(4, "little") + array + texts


def _with_table(model, table):
    model.normalizer_spec.precompiled_charsmap = table


def _letter(character, offset, is_key=False):
    return offset << 10 | is_key << 8 | ord(character)


# Where a unit is, xor its offset, xor a letter, the letter comes to lie.
_CHAIN = [1 << 10, *[0] * 95, _letter("a", 96 ^ 1 ^ 0, is_key=True)]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda m: setattr(m.pieces[9], "score", math.nan), "the piece '3' has the sc"),
        (lambda m: setattr(m.pieces[9], "score", math.inf), "the score inf; get or tr"),
        (lambda m: setattr(m.pieces[9], "piece", "a\0b"), "is no piece of a text"),
        (lambda m: setattr(m.pieces[9], "piece", "a" * 8000), "is no piece of a text"),
        (
            lambda m: [m.pieces.add(piece="z" * k, type=4) for k in range(1, 70)],
            "65 user-defined pieces begin each other",
        ),
        *(
            (partial(_with_table, table=table), "its table of characters .* leads now")
            for table in (
                b"\0",
                _table([1 << 10])[:-1],
                _table([1 << 10], b"a"),
                (999).to_bytes(4, "little") + bytes(1200),
                _table([1 << 10, _letter("a", 1 << 20)]),
                _table([1 << 18]),
                _table(_CHAIN),
            )
        ),
    ],
)
def test_a_damaged_model_is_refused(change, message):
    with pytest.raises(UserError, match=f"x.model is damaged: .*{message}"):
        SentencePieceTokenizer(_damaged(change), source="x.model")


def test_flipped_bits_end_no_process(train_model):
    data = train_model(model_type="unigram", vocab_size=60)
    rng = random.Random(0)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 3, 30])):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            tokenizer = SentencePieceTokenizer(bytes(damaged))
            tokenizer.encode_with_offsets("the cat \ufb01 \u3000 \xe9\u0301 2000, " * 9)
        except UserError:
            pass
