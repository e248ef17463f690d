"""A hostile text costs a graph no more than asked; `test_growth.py` looks at time."""

import random
import unicodedata

import pytest
import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.normalization import sentencepiece_text
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

_PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] a ##a b ##b aa ##aaa , e ##e"
MARKS = "\u0301\u0316"  # of two classes, the wrong way round


@pytest.fixture(scope="module")
def wordpiece():
    return WordPieceTokenizer("\n".join(_PIECES.split()).encode())


def test_marks_dropped_early_change_nothing(wordpiece):
    """Every character that may be moved or falls apart, in random company."""
    characters = [chr(c) for c in range(0xA0, 0x110000) if not 0xD800 <= c <= 0xDFFF]
    lively = [
        c
        for c in characters
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
        parts = wordpiece._parts(text)
        kept = "".join(c for c in kept if not c.isspace())
        assert "".join(part for part, _ in parts) == kept


@pytest.fixture(scope="module", params=["wordpiece", "sentencepiece"])
def either(request, wordpiece, train_model):
    if request.param == "wordpiece":
        return wordpiece
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


def test_no_more_is_tokenized_than_asked_for(either):
    whole = InGraphTokenizer(either)(tf.constant(["a, b " * 9000]))
    cut = InGraphTokenizer(either, max_tokens=4)(tf.constant(["a, b " * 9000]))
    assert whole.row_lengths()[0] == len(either.encode("a, b " * 9000))
    assert 4 <= cut.row_lengths()[0] < 1024
