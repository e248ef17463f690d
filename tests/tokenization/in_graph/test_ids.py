"""The in-graph twins give the same ids."""

import re
import unicodedata

import pytest
import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.vocabularies import wordpiece as vocabulary


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["english", "chinese"])
def test_every_character(name, request):
    tokenizer = request.getfixturevalue(name)
    codes = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    # Unassigned ones, to this Python, may have decompositions in TensorFlow.
    characters = [c for c in map(chr, codes) if unicodedata.category(c) != "Cn"]
    # Private-use characters are alike, and many.
    characters = [c for c in characters if unicodedata.category(c) != "Co"]
    texts = [f"a{c}b{c.upper()} {c}" for c in characters]
    ids = traced(InGraphTokenizer(tokenizer))(tf.constant(texts)).to_list()
    expected = tokenizer.encode_batch(texts)
    pairs = zip(characters, ids, expected, strict=True)
    assert [f"U+{ord(c):04X}" for c, a, b in pairs if a != b] == []


@pytest.mark.slow
def test_small_wordpiece():
    pieces = vocabulary(["e", "##e", "ος", ",", "中"]).encode()
    texts = ["e" * 200, "e" * 201, "ΟΣ,ΟΣ", "中e", "[SEP]", ""]
    for do_lower_case in (True, False):
        check(WordPieceTokenizer(pieces, do_lower_case), texts)


def test_invalid_utf8_counts_as_replacement_characters(small):
    ids = InGraphTokenizer(small)(tf.constant([b"the\xff cat"]))
    assert ids.to_list() == [small.encode("the\ufffd cat")]


@pytest.mark.parametrize("kind", ["small", "words"])
def test_halves_of_surrogate_pairs_count_as_replacement_characters(kind, request):
    tokenizer = WordPieceTokenizer(vocabulary(["the", "cat", "##s"]).encode())
    if kind == "small":
        tokenizer = request.getfixturevalue("small")
    for damaged in ("the\ud83d cat", "\udfffthe cat\ud800"):
        text = re.sub("[\ud800-\udfff]", "\ufffd", damaged)
        expected = tokenizer.encode_with_offsets(text)
        assert tokenizer.encode(damaged) == expected[0]
        assert tokenizer.tokenize(damaged) == [tokenizer.pieces[i] for i in expected[0]]
        assert tokenizer.encode_with_offsets(damaged) == expected


@pytest.mark.parametrize("is_cased", [True, False])
def test_null_characters_are_unknown_or_dropped(train_model, is_cased):
    pieces = SentencePieceTokenizer(train_model(), not is_cased)
    words = WordPieceTokenizer(vocabulary(["a", "b", "##b"]).encode(), not is_cased)
    for tokenizer, expected in (
        (pieces, "\u2581 a \0 b \u2581 \0"),
        (words, "a ##b"),
    ):
        ids = tokenizer.convert_tokens_to_ids(expected.split(" "))
        assert check(tokenizer, ["a\0b \0"]) == [ids]
