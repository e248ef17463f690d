"""Pieces are the recorded ones, and map to exact spans of the original text."""

import json

import pytest
from hypothesis import given

from albert_tf.tokenization import normalization
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece as vocabulary
from tools.fuzz.inputs import TEXTS


def test_sentencepiece_examples(english):
    text = "  The  café\u0301 ﬁne ½ cup, 92000, 日本 x"
    found = "▁the|▁cafe|▁fine|▁1|⁄|2|▁cup|,|▁9|2000|,|▁|日本|▁x"
    spanned = "The|café\u0301|ﬁne|½|½|½|cup|,|9|2000|,||日本|x"
    spans = english.encode_with_offsets(text)[1]
    assert english.tokenize(text) == found.split("|")
    assert [text[start:end] for start, end in spans] == spanned.split("|")


def test_wordpiece_examples(chinese):
    text = " 三藏\u200b Café  English words ½"
    spans = chinese.encode_with_offsets(text)[1]
    found = "三 藏 cafe english word ##s [UNK]"
    assert chinese.tokenize(text) == found.split()
    spanned = "三 藏 Café English word s ½"
    assert [text[start:end] for start, end in spans] == spanned.split()


def check_spans(tokenizer, text):
    """Spans lie in the text, in order, and spell the pieces that are known."""
    ids, spans = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode(text)
    assert len(spans) == len(ids)
    previous = 0
    for index, (start, end) in zip(ids, spans, strict=True):
        assert 0 <= start <= end <= len(text)
        assert start >= previous or text[start:end] == text[previous:end]
        previous = start
        span = text[start:end]
        assert span == span.strip()
        piece = tokenizer.pieces[index].removeprefix("##").lstrip("▁")
        if piece and index != tokenizer.unk_id:
            assert canonical(piece) in canonical(span)


def canonical(text):
    return normalization.sentencepiece_text(text, False).casefold()


@given(TEXTS)
def test_prepared_text_is_the_official_one(text):
    for lower in (True, False):
        prepared, spans = normalization.sentencepiece_text_with_spans(text, lower)
        official = normalization.sentencepiece_text(text, lower)
        assert prepared == official
        assert len(prepared) == len(spans)


@given(TEXTS)
def test_sentencepiece_spans(small, text):
    check_spans(small, text)


def test_spaces_around_marks_stay_with_offsets(train_model):
    tokenizer = SentencePieceTokenizer(train_model(remove_extra_whitespaces=False))
    for text in ("\u0301 cat", " \u0308  a", "a \u0301\u0302 b \u0301"):
        check_spans(tokenizer, text)


@given(TEXTS)
def test_wordpiece_spans(text):
    letters = "abcdefghijklmnopqrstuvwxyzσςıĳ0123456789,日本"
    pieces = [*letters, *(f"##{letter}" for letter in letters)]
    check_spans(WordPieceTokenizer(vocabulary(pieces).encode()), text)


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nfkc"])
def test_what_a_vocabulary_reads_as_a_space_or_drops_is_no_part_of_a_piece(
    normalization, train_model
):
    model = train_model(normalization_rule_name=normalization)
    tokenizer = SentencePieceTokenizer(model)
    text = "\ufffd the\x01\u200c \x02▁cat\ufffd"
    spans = tokenizer.encode_with_offsets(text)[1]
    parts = [text[start:end] for start, end in spans if start < end]
    if normalization == "nmt_nfkc":
        assert parts == [*"thecat"]
    else:  # joiners and control characters are read as they are
        assert "".join(parts) == "\ufffdthe\x01\u200c\x02cat\ufffd"


@pytest.fixture(params=["sentencepiece_30k", "wordpiece_chinese"])
def golden(request, shared):
    """An official vocabulary, and what it makes of texts."""
    tokenizer = {"sentencepiece_30k": "english", "wordpiece_chinese": "chinese"}
    lines = shared(f"fixtures/tokenization/{request.param}.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    return request.getfixturevalue(tokenizer[request.param]), rows


def test_recorded_pieces_and_ids(golden):
    tokenizer, rows = golden
    texts, expected = [row["text"] for row in rows], [row["ids"] for row in rows]
    assert [tokenizer.tokenize(text) for text in texts] == [r["pieces"] for r in rows]
    assert tokenizer.encode_batch(texts) == expected
    assert [tokenizer.encode_with_offsets(text)[0] for text in texts] == expected


def test_official_ids_of_special_pieces(english, chinese):
    names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id", "vocab_size")
    assert [getattr(english, n) for n in names] == [0, 1, 2, 3, 4, 30000]
    assert [getattr(chinese, n) for n in names] == [0, 100, 101, 102, 103, 21128]
