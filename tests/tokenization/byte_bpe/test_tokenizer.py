"""Byte-level BPE: ids, offsets, pairs, special tokens, and the text back."""

import json
import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.byte_bpe import Merges
from albert_tf.tokenization.byte_bpe import words_of
from albert_tf.tokenization.tokenizer import WordCache


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a   b\t\nb \n", ["a", "  ", " b", "\t", "\n", "b", " \n"]),
        ("we'll 'sing it's's", ["we", "'ll", " '", "sing", " it", "'s", "'s"]),
        ("a1\u00b2\u4e8c_\u0301b", ["a", "1\u00b2", "\u4e8c", "_\u0301", "b"]),
        # Letters since Unicode 14, 15.1 and 16, and a number.
        ("a\u1c89\U00010570\U0002ebf0", ["a\u1c89\U00010570\U0002ebf0"]),
        ("1\U00010d40", ["1\U00010d40"]),
        ("a\x1cb", ["a", "\x1c", "b"]),  # Python's white space, but not Unicode's
    ],
)
def test_words(text, expected):
    assert words_of(text) == expected


def test_words_of_ascii_are_those_of_any_text():
    text = "".join(chr(a) + chr(b) for a in range(128) for b in range(128))
    assert words_of(text) == words_of(f"{text}\u00e9")[:-1]


def test_merges_go_by_rank_and_from_the_left():
    ids = list(range(256))
    a, b = ord("a"), ord("b")
    pairs = {(a, a): (1, 256), (a, b): (0, 257), (256, 256): (2, 258)}
    merges = Merges(ids, pairs)
    assert merges.apply(b"aab") == [a, 257]
    assert merges.apply(b"aaaaa") == [258, a]
    assert merges.apply(b"") == []
    assert merges.grow_in_order()
    assert not Merges(ids, {(256, b): (0, 257), (a, a): (1, 256)}).grow_in_order()


@pytest.mark.parametrize("name", ["wiki", "hostile"])
def test_recorded_ids_and_offsets(name, roberta, shared):
    lines = shared(f"fixtures/roberta/tokenization/{name}.jsonl").read_text("utf-8")
    for row in map(json.loads, lines.splitlines()):
        found = roberta(row["text"], row["pair"], padding=False)["input_ids"][0]
        assert found in (row["ids"], row.get("fast_ids")), ascii(row["text"])
        if row["offsets"]:
            spans = [[0, 0], *_spans(roberta, row["text"]), [0, 0]]
            if row["pair"] is not None:
                spans += [[0, 0], *_spans(roberta, row["pair"]), [0, 0]]
            assert spans == row["offsets"], ascii(row["text"])


def _spans(tokenizer, text):
    return [list(span) for span in tokenizer.encode_with_offsets(text)[1]]


def test_recorded_words(roberta, shared):
    lines = shared("fixtures/roberta/tokenization/words.jsonl").read_text("utf-8")
    for row in map(json.loads, lines.splitlines()):
        pieces = [roberta.encode(roberta.as_word(word)) for word in row["words"]]
        assert [0, *(i for ids in pieces for i in ids), 2] == row["ids"]


def test_recorded_truncation(roberta, shared):
    lines = shared("fixtures/roberta/tokenization/truncated.jsonl").read_text("utf-8")
    rows = list(map(json.loads, lines.splitlines()))
    assert len(rows) == 40
    for row in rows:
        options = {"max_length": row["max_length"], "truncation": row["strategy"]}
        found = roberta(row["text"], row["pair"], padding=False, **options)
        assert found["input_ids"] == [row["ids"]]


def test_special_tokens_in_a_text(small_bpe):
    mask = small_bpe.mask_id
    assert mask == small_bpe.vocab_size - 1
    for asks in (True, False):
        found = small_bpe("a  <mask>  <s>b", special_tokens_in_text=asks)
        a, spaces, b = (small_bpe.encode(text) for text in ("a", "  ", "b"))
        assert found["input_ids"].tolist() == [[0, *a, mask, *spaces, 0, *b, 2]]
    ids, spans = small_bpe.encode_with_offsets("a \t<mask>")
    assert (ids[-1], spans[-1]) == (mask, (3, 9))
    assert small_bpe.tokenize("a\u3000<mask>") == ["a", "<mask>"]


def test_decoding(small_bpe):
    text = " The  caf\u00e9\n\n\U0001f600\0 \u65e5\x85 it's "
    ids = small_bpe.encode(text)
    assert small_bpe.decode(ids) == text
    row = small_bpe("a <mask>b", "c")["input_ids"][0]
    assert small_bpe.decode(row) == "<s>a<mask>b</s></s>c</s>"
    assert small_bpe.decode(row, skip_special_tokens=True) == "abc"
    half = small_bpe.encode("\u0416")[:1]
    assert small_bpe.decode(half) == "\ufffd"


def test_add_prefix_space(small_files, tmp_path, small_bpe):
    shutil.copytree(small_files, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    prefixed = load_tokenizer(tmp_path)
    assert prefixed.encode(" the cat") == small_bpe.encode(" the cat")
    assert prefixed.encode("") == []
    assert prefixed.encode_with_offsets("the cat")[1][0] == (0, 3)


def test_word_starts(small_bpe):
    starts = dict(zip(small_bpe.pieces, small_bpe.word_starts(), strict=True))
    assert starts["\u0120the"] and starts[","] and starts["<mask>"]
    assert not starts["the"] and not starts["a"]
    official = small_bpe.word_starts(official=True)
    official = dict(zip(small_bpe.pieces, official, strict=True))
    assert official["\u0120the"] and not official[","] and official["</s>"]


def test_the_cache_holds_few_words_and_no_long_ones(small_files, monkeypatch):
    monkeypatch.setattr(WordCache, "WORDS", 4)
    tokenizer = load_tokenizer(small_files)
    cache = tokenizer._known
    for size in range(1, 80):
        ids = tokenizer.encode("x" * size)
        assert len(cache) <= 4
        assert ("x" * size in cache) == (size <= 64)
        assert tokenizer.encode("x" * size) == ids


def test_letters_are_not_lowered(small_files):
    with pytest.raises(UserError, match="keeps capital letters"):
        load_tokenizer(small_files, do_lower_case=True)
    assert load_tokenizer(small_files, do_lower_case=False).do_lower_case is False
