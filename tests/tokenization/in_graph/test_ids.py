"""The in-graph twins give the same ids."""

import json
import re
import unicodedata

import pytest
import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

SPEC = [tf.TensorSpec([None], tf.string)]
GOLDEN = {"english": "sentencepiece_30k", "chinese": "wordpiece_chinese"}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_ids(name, request, shared):
    tokenizer = request.getfixturevalue(name)
    lines = shared(f"fixtures/tokenization/{GOLDEN[name]}.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    in_graph = tf.function(InGraphTokenizer(tokenizer), input_signature=SPEC)
    ids = in_graph(tf.constant([row["text"] for row in rows]))
    assert ids.dtype == tf.int32
    assert ids.to_list() == [row["ids"] for row in rows]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("english", "data/text_en/wikipedia_squad/dev-v1.1.txt"),
        ("chinese", "data/text_zh/classics/红楼梦.txt"),
    ],
)
def test_running_text(name, text, request, shared):
    tokenizer = request.getfixturevalue(name)
    lines = shared(text).read_text("utf-8").splitlines()[:1000]
    ids = InGraphTokenizer(tokenizer)(tf.constant(lines)).to_list()
    assert ids == tokenizer.encode_batch(lines)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["english", "chinese"])
def test_every_character(name, request):
    tokenizer = request.getfixturevalue(name)
    in_graph = tf.function(InGraphTokenizer(tokenizer), input_signature=SPEC)
    codes = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    # Unassigned ones, to this Python, may have decompositions in TensorFlow.
    characters = [c for c in map(chr, codes) if unicodedata.category(c) != "Cn"]
    # Private-use characters are alike, and many.
    characters = [c for c in characters if unicodedata.category(c) != "Co"]
    texts = [f"a{c}b{c.upper()} {c}" for c in characters]
    ids = in_graph(tf.constant(texts)).to_list()
    expected = tokenizer.encode_batch(texts)
    pairs = zip(characters, ids, expected, strict=True)
    assert [f"U+{ord(c):04X}" for c, a, b in pairs if a != b] == []


def test_small_wordpiece():
    data = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ne\n##e\nος\n,\n中\n"
    texts = ["e" * 200, "e" * 201, "ΟΣ,ΟΣ", "中e", "[SEP]", ""]
    for do_lower_case in (True, False):
        tokenizer = WordPieceTokenizer(data.encode(), do_lower_case)
        ids = InGraphTokenizer(tokenizer)(tf.constant(texts))
        assert ids.to_list() == tokenizer.encode_batch(texts)


def test_invalid_utf8_counts_as_replacement_characters(small):
    ids = InGraphTokenizer(small)(tf.constant([b"the\xff cat"]))
    assert ids.to_list() == [small.encode("the\ufffd cat")]


@pytest.mark.parametrize("kind", ["small", "words"])
def test_halves_of_surrogate_pairs_count_as_replacement_characters(kind, request):
    words = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n"
    tokenizer = request.getfixturevalue("small") if kind == "small" else None
    tokenizer = tokenizer or WordPieceTokenizer(words)
    for damaged in ("the\ud83d cat", "\udfffthe cat\ud800"):
        text = re.sub("[\ud800-\udfff]", "\ufffd", damaged)
        expected = tokenizer.encode_with_offsets(text)
        assert tokenizer.encode(damaged) == expected[0]
        assert tokenizer.tokenize(damaged) == [tokenizer.pieces[i] for i in expected[0]]
        assert tokenizer.encode_with_offsets(damaged) == expected


@pytest.mark.parametrize("is_cased", [True, False])
def test_null_characters_are_unknown_or_dropped(train_model, is_cased):
    words = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n"
    for tokenizer, expected in (
        (
            SentencePieceTokenizer(train_model(), not is_cased),
            "\u2581 a \0 b \u2581 \0",
        ),
        (WordPieceTokenizer(words, not is_cased), "a ##b"),
    ):
        ids = tokenizer.convert_tokens_to_ids(expected.split(" "))
        assert tokenizer.encode("a\0b \0") == ids
        assert InGraphTokenizer(tokenizer)(["a\0b \0"]).to_list() == [ids]
