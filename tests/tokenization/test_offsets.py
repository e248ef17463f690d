"""Pieces are the recorded ones, and map to exact spans of the original text."""

import json

import pytest

from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer


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


def test_spaces_around_marks_stay_with_offsets(train_model):
    tokenizer = SentencePieceTokenizer(train_model(remove_extra_whitespaces=False))
    for text, spans in {
        "\u0301 cat": [(1, 1), (2, 2), (2, 3), (3, 4), (4, 5)],
        " \u0308  a": [(3, 3), (4, 4), (4, 5)],
        "a \u0301\u0302 b \u0301": [(0, 0), (0, 1), (4, 4), (5, 5), (5, 6), (7, 7)],
    }.items():
        assert tokenizer.encode_with_offsets(text) == (tokenizer.encode(text), spans)


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


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [("sentencepiece_30k", "english"), ("wordpiece_chinese", "chinese")],
)
def test_recorded_pieces_and_ids(name, vocabulary, request, shared):
    lines = shared(f"fixtures/tokenization/{name}.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    tokenizer = request.getfixturevalue(vocabulary)
    texts, expected = [row["text"] for row in rows], [row["ids"] for row in rows]
    assert [tokenizer.tokenize(text) for text in texts] == [r["pieces"] for r in rows]
    assert tokenizer.encode_batch(texts) == expected
    assert [tokenizer.encode_with_offsets(text)[0] for text in texts] == expected


def test_official_ids_of_special_pieces(english, chinese):
    names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id", "vocab_size")
    assert [getattr(english, n) for n in names] == [0, 1, 2, 3, 4, 30000]
    assert [getattr(chinese, n) for n in names] == [0, 100, 101, 102, 103, 21128]
