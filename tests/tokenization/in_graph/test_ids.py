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
    # Unassigned ones, to this Python, may have decompositions in TensorFlow; those of
    # private use are alike, and many; halves of pairs are none.
    skipped = ("Cn", "Co", "Cs")
    characters = [
        c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in skipped
    ]
    texts = [f"a{c}b{c.upper()} {c}" for c in characters]
    ids = traced(InGraphTokenizer(tokenizer))(tf.constant(texts)).to_list()
    pairs = zip(characters, ids, tokenizer.encode_batch(texts), strict=True)
    assert [f"U+{ord(c):04X}" for c, a, b in pairs if a != b] == []


@pytest.mark.slow
def test_small_wordpiece():
    pieces = vocabulary(["e", "##e", "ος", ",", "中"]).encode()
    texts = ["e" * 200, "e" * 201, "ΟΣ,ΟΣ", "中e", "[SEP]", ""]
    for do_lower_case in (True, False):
        check(WordPieceTokenizer(pieces, do_lower_case), texts)


@pytest.fixture(params=["small", "small_bpe", "words"])
def tokenizer(request):
    if request.param != "words":
        return request.getfixturevalue(request.param)
    return WordPieceTokenizer(vocabulary(["the", "cat", "##s"]).encode())


def test_what_is_no_text_counts_as_replacement_characters(tokenizer):
    ids = InGraphTokenizer(tokenizer)(tf.constant([b"the\xff cat"]))
    assert ids.to_list() == [tokenizer.encode("the\ufffd cat")]
    for halved in ("the\ud83d cat", "\udfffthe cat\ud800", "a\ud83db"):
        text = re.sub("[\ud800-\udfff]", "\ufffd", halved)
        expected = tokenizer.encode_with_offsets(text)
        assert tokenizer.encode(halved) == expected[0]
        assert tokenizer.tokenize(halved) == [tokenizer.pieces[i] for i in expected[0]]
        assert tokenizer.encode_with_offsets(halved) == expected


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
