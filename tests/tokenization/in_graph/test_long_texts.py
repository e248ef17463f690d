"""Long, hostile texts: what a graph makes of them, and for how much memory."""

import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tokenization.in_graph.origins import stretches
from albert_tf.tokenization.in_graph.origins import text_numbers
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.normalization import sentencepiece_text
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece

MARKS = "\u0301\u0316"  # of two classes, the wrong way round


@pytest.fixture(scope="module")
def words():
    pieces = ["a", "##a", "b", "##b", "aa", "##aaa", ",", "e", "##e"]
    return WordPieceTokenizer(wordpiece(pieces).encode())


def test_marks_dropped_early_change_nothing(words):
    """Every character that may be moved or falls apart, in random company."""
    lively = [
        c
        for c in map(chr, range(0xA0, 0x110000))
        if unicodedata.category(c).startswith("M") or unicodedata.decomposition(c)
    ]
    rng = random.Random(0)
    for _ in range(5000):
        text = "".join(rng.choices(lively, k=8))
        decomposed = unicodedata.normalize("NFKD", " ".join(text.split()))
        kept = "".join(c for c in decomposed if not unicodedata.combining(c))
        assert sentencepiece_text(text, False) == kept
        lowered = unicodedata.normalize("NFD", text.lower())
        kept = "".join(c for c in lowered if unicodedata.category(c) != "Mn")
        parts = words._parts(text)
        kept = "".join(c for c in kept if not c.isspace())
        assert "".join(part for part, _ in parts) == kept


@pytest.fixture(scope="module", params=["wordpiece", "sentencepiece"])
def either(request, words, train_model):
    if request.param == "wordpiece":
        return words
    return SentencePieceTokenizer(train_model(model_type="unigram", vocab_size=55))


LONG_TEXTS = {
    "words": "A cat, aaa éb 2000, " * 5_000,
    "spaces": " \t" * 50_000 + "the cat",
    "accents": "a" + MARKS * 50_000 + " the cat",
    "letters": "catdogb" * 20_000,
    "unknown": "Ж中" * 300 + " cat" + "Ж中" * 30_000,
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_cut_text_keeps_its_first_tokens(either, name):
    in_graph = InGraphTokenizer(either, max_tokens=12)
    expected = either.encode(LONG_TEXTS[name])[:12]
    ids = in_graph(tf.constant([LONG_TEXTS[name], "a cat"])).to_list()
    assert ids[0][:12] == expected
    assert ids[1] == either.encode("a cat")
    assert len(ids[0]) <= 12 * 256


_HOSTILE = (
    "a\x00\x7f\u0301\ufdfa\ufffd\ufffe\uffff\U0001f600\U0010ffff\u2028\ud7ff\ue000"
)


def places(rng, text, count):
    first = [rng.randint(0, len(text)) for _ in range(count)]
    return first, [rng.randint(start, len(text)) for start in first]


def test_stretches():
    rng = random.Random(3)
    texts = ["", "a", *("".join(rng.choices(_HOSTILE, k=40)) for _ in range(5))]
    rows = [places(rng, text, rng.randint(0, 5)) for text in texts]
    first, last = (
        tf.ragged.constant([row[k] for row in rows], tf.int32) for k in (0, 1)
    )
    codes = tf.ragged.constant([list(map(ord, text)) for text in texts], tf.int32)
    encoded = [text.encode() for text in texts]
    decoded = tf.strings.unicode_decode(encoded, "UTF-8")
    assert decoded.to_list() == codes.to_list()
    assert stretches(decoded, first, last).to_list() == [
        [text[a:b].encode() for a, b in zip(*row, strict=True)]
        for text, row in zip(texts, rows, strict=True)
    ]


def test_numbers():
    rng = random.Random(5)
    compute = tf.function(text_numbers, autograph=False)
    for alphabet in ("a", "ab", _HOSTILE):
        text = "".join(rng.choices(alphabet, k=70))
        first, last = places(rng, text, 300)
        codes = tf.constant(list(map(ord, text)), tf.int32)
        found = compute(
            codes, tf.constant(first, tf.int64), tf.constant(last, tf.int64)
        )
        texts = [text[a:b] for a, b in zip(first, last, strict=True)]
        same = [[one == other for other in texts] for one in texts]
        np.testing.assert_array_equal(found[:, None] == found, same)
    nothing = tf.zeros([0], tf.int64)
    assert compute(tf.zeros([0], tf.int32), nothing, nothing).shape == [0]


def test_a_text_is_not_copied_for_each_stretch():
    # With a copy for each, these are 40 GB.
    codes = tf.tile([97, 98, 99, 32], [50_000])
    first = tf.range(0, 199_000, dtype=tf.int64)
    found = text_numbers(codes, first, first + 21)
    assert len(np.unique(found)) == 4
