"""Pieces and ids of the official vocabularies."""

import json

import pytest


@pytest.fixture(params=["sentencepiece_30k", "wordpiece_chinese"])
def golden(request, shared):
    tokenizer = {"sentencepiece_30k": "english", "wordpiece_chinese": "chinese"}
    lines = shared(f"fixtures/tokenization/{request.param}.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    return request.getfixturevalue(tokenizer[request.param]), rows


def test_pieces_and_ids(golden):
    tokenizer, rows = golden
    texts, expected = [row["text"] for row in rows], [row["ids"] for row in rows]
    assert [tokenizer.tokenize(text) for text in texts] == [r["pieces"] for r in rows]
    assert tokenizer.encode_batch(texts) == expected
    assert [tokenizer.encode_with_offsets(text)[0] for text in texts] == expected


def test_special_ids(english, chinese):
    names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id", "vocab_size")
    assert [getattr(english, n) for n in names] == [0, 1, 2, 3, 4, 30000]
    assert [getattr(chinese, n) for n in names] == [0, 100, 101, 102, 103, 21128]
