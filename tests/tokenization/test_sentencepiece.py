"""Additions of SentencePieceTokenizer to SentencePiece."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer


def test_white_space_accents_and_case(small):
    assert small.encode("  Thé\t\u2003CAT ") == small.encode("the cat")
    assert small.unk_id not in small.encode("the cat")


def test_cased_tokenizer_keeps_case(train_model):
    cased = SentencePieceTokenizer(train_model(), do_lower_case=False)
    assert cased.encode("THE") != cased.encode("the")


def test_number_before_comma_is_split(train_model):
    text = ["in 2000, or 2000, and 2000, it was 2000 or 2000"] * 20
    model = train_model(
        sentence_iterator=iter(text),
        model_type="unigram",
        user_defined_symbols=["▁2000,", "0,", ","],
        vocab_size=40,
    )
    tokenizer = SentencePieceTokenizer(model)
    pieces = tokenizer.tokenize("in 2000, or")
    assert "".join(pieces) == "▁in▁2000,▁or"
    assert not any(len(p) > 1 and p.endswith(",") for p in pieces)
    ids, spans = tokenizer.encode_with_offsets("in 2000, or")
    assert [tokenizer.pieces[i] for i in ids] == pieces
    assert "in 2000, or"[slice(*spans[pieces.index(",")])] == ","
    assert tokenizer.encode("10,") == tokenizer.encode_batch(["", "10,", "x"])[1]


def test_raw_text_never_gives_special_ids(small, train_model):
    defined = train_model(
        control_symbols=[],
        user_defined_symbols=["[CLS]", "[SEP]", "[MASK]", "<pad>x"],
    )
    text = "[CLS] a [SEP] b [MASK] <pad> <unk>"
    for tokenizer in (small, SentencePieceTokenizer(defined, do_lower_case=False)):
        special = {
            tokenizer.pad_id,
            tokenizer.cls_id,
            tokenizer.sep_id,
            tokenizer.mask_id,
        }
        ids = tokenizer.encode(text)
        assert not special & set(ids)
        assert ids == tokenizer.encode_with_offsets(text)[0]


def test_no_text_no_ids(small):
    assert small.encode("") == []
    assert small.encode(" \u0301 ") == []
    assert small.encode_batch([]) == []
    assert small.encode_with_offsets(" ") == ([], [])


def test_vocabulary_without_mask_is_refused(train_model):
    model = train_model(control_symbols=["[CLS]", "[SEP]"])
    with pytest.raises(UserError, match=r"x\.model has no piece '\[MASK\]'"):
        SentencePieceTokenizer(model, source="x.model")


def test_garbage_is_refused():
    with pytest.raises(UserError, match="not a SentencePiece model"):
        SentencePieceTokenizer(b"\xff\x00garbage")
