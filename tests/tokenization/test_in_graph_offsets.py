"""The in-graph twins stem from the same characters of the original text."""

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from albert_tf.tokenization.in_graph import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

SPEC = [tf.TensorSpec([None], tf.string)]
TRICKY = [
    "",
    "  \t ",
    "  The  café\u0301 ﬁne ½ cup, 92000, 日本 x",
    "a\u0301\u0302 b \u0301c \u0301\u0302",
    "\u0301\u0302a x \u0301",
    "Σίσυφος ΟΔΟΣ Ⱥb ẞ İx",
    "the\u200bcat \ufeffsat\u200d \u200d\u200d",
    "in 2000, or 1999, 3.14, 12,34,",
    "三藏\u200b Café  English words ½",
    "e" * 201 + " e " + "e" * 200,
    "[SEP] [CLS] <pad> ▁ \ufffd",
    "👨\u200d👩\u200d👧 서울은 \u0e01\u0e33",
]
CHARACTERS = st.sampled_from(
    [*"aeEΣσİé½ﬁ日本 ,20\t\u0301\u200b\u3000\ufeff", "e\u0301", "2000,", "  "]
)
TEXTS = st.lists(CHARACTERS, max_size=9).map("".join)


def check(tokenizer, in_graph, texts):
    ids, starts, ends = (part.to_list() for part in in_graph(tf.constant(texts)))
    for row, text in enumerate(texts):
        expected_ids, spans = tokenizer.encode_with_offsets(text)
        assert ids[row] == expected_ids, text
        found = list(zip(starts[row], ends[row], strict=True))
        assert found == [tuple(span) for span in spans], text


@pytest.fixture(scope="module", params=["sentencepiece", "cased", "wordpiece"])
def both(request, train_model):
    """A tokenizer and its twin."""
    if request.param == "wordpiece":
        letters = "abcdefghijklmnopqrstuvwxyzσςı0123456789,日本三藏"
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, "##fe"]
        pieces += [f"##{letter}" for letter in letters]
        tokenizer = WordPieceTokenizer("\n".join(pieces).encode())
    else:
        # Of pieces that are characters there is but one sequence.
        tokenizer = SentencePieceTokenizer(
            train_model(), request.param == "sentencepiece"
        )
    function = InGraphTokenizer(tokenizer).with_offsets
    return tokenizer, tf.function(function, input_signature=SPEC)


def test_tricky_texts(both):
    check(*both, TRICKY)
    for text in TRICKY:
        check(*both, [text])
    check(*both, TRICKY[::-1])


def test_no_text(both):
    _, in_graph = both
    ids, starts, ends = in_graph(tf.constant([], tf.string))
    assert ids.shape[0] == starts.shape[0] == ends.shape[0] == 0
    assert {part.dtype for part in (ids, starts, ends)} == {tf.int32}


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_any_text(both, texts):
    check(*both, texts)


def test_a_piece_that_becomes_two(english):
    text = "In 1974, or 92000,é"
    in_graph = InGraphTokenizer(english).with_offsets
    check(english, in_graph, [text])
    ids, starts, ends = (part.to_list()[0] for part in in_graph(tf.constant([text])))
    pairs = [
        (english.pieces[i], text[start:end])
        for i, start, end in zip(ids, starts, ends, strict=True)
    ]
    assert ("2000", "2000") in pairs
    assert (",", ",") in pairs


@pytest.mark.parametrize("name", ["english", "chinese"])
def test_real_texts(name, request, shared):
    tokenizer = request.getfixturevalue(name)
    in_graph = tf.function(InGraphTokenizer(tokenizer).with_offsets)
    english = shared("data/text_en/wikipedia_squad/dev-v1.1.txt")
    chinese = shared("data/text_zh/classics/红楼梦.txt")
    lines = english.read_text("utf-8").splitlines()[:60]
    lines += chinese.read_text("utf-8").splitlines()[:60]
    # A run of one letter has several best sequences of pieces.
    tricky = [text for text in TRICKY if "eee" not in text]
    check(tokenizer, in_graph, [*lines, *tricky])
