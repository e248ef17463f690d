"""Rows of RoBERTa and XLNet: separators, segments, padding; in Python and graphs."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.row_layout import CLS_LAST
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.multiple_choice.questions import Question as Choice
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.serving import ChoiceFeatures
from albert_tf.tasks.question_answering.in_graph import WindowFeatures
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.tokenized_examples import from_features
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.in_graph.features import MaskedTextFeatures
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.in_graph.features import mark_of
from tools.verify.squad_windows import features_of

_CONTEXT = "the film was very good and the plot was bad"
_SIZES = WindowSizes(max_seq_length=10, doc_stride=3, max_query_length=2)


@pytest.fixture(params=["roberta", "xlnet"])
def tokenizer(request, family_tokenizer):
    return family_tokenizer(request.param)


@pytest.fixture
def roberta(family_tokenizer):
    return family_tokenizer("roberta")


def unpadded(tokenizer, array, width):
    """The tokens of rows `[..., tokens]` that a shorter row has."""
    return array[..., -width:] if tokenizer.layout.pads_left else array[..., :width]


@pytest.mark.parametrize("length", [40, 12])
def test_pairs(tokenizer, length):
    texts, pairs = ["the film sat on the mat", "a"], ["the plot was bad", ""]
    rows = tokenizer(texts, pairs, max_length=length, padding=False)
    expected = tokenizer(texts, pairs, max_length=length)
    found = TextFeatures(tokenizer, length)(tf.constant(texts), tf.constant(pairs))
    made = tokenize_texts(texts, pairs, tokenizer, length)
    for examples in (made, from_features(rows, tokenizer)):
        assert (examples.layout, examples.pad_id) == (
            tokenizer.layout,
            tokenizer.pad_id,
        )
        [batch] = evaluation_dataset(examples, 2, length)
        for name, array in expected.items():
            own = unpadded(tokenizer, batch[name], array.shape[1])
            np.testing.assert_array_equal(own, array, name)
            np.testing.assert_array_equal(found[name], array, name)


def test_choices(tokenizer):
    choice = Choice("1", "the film was good", "it was _", ("good", "very bad"), 0)
    [batch] = evaluation_dataset(tokenize_questions([choice], tokenizer, 60, 30), 1, 60)
    found = ChoiceFeatures(tokenizer, 60, 30)(
        tf.constant(["it was _"]),
        tf.constant(["the film was good"]),
        tf.constant([["good", "very bad"]]),
    )
    endings = ["it was good", "it was very bad"]
    expected = tokenizer(["the film was good"] * 2, endings)
    for name, array in expected.items():
        own = unpadded(tokenizer, batch[name][0], array.shape[1])
        np.testing.assert_array_equal(own, array, name)
        np.testing.assert_array_equal(found[name][0], array, name)


def test_words_have_the_space_before_them(roberta):
    words = ["the", "cat", "didn't"]
    sentence = sentence_of_words("1", words, None, None)
    pieces = [i for word in words for i in roberta.encode(f" {word}")]
    assert tokenize_sentences([sentence], roberta, 30, 10).ids.tolist() == [
        0,
        *pieces,
        2,
    ]
    found = RowFeatures(roberta, 30, 10)(tf.constant(["the cat didn't"]))
    assert found["input_ids"][0].numpy().tolist() == [0, *pieces, 2]


def test_masks_in_a_graph(roberta):
    features = MaskedTextFeatures(roberta, 30)
    assert mark_of(roberta) == "<mask>"
    texts = ["the cat <mask> on the <mask>", "a <mask>"]
    found = features(tf.constant(texts))
    expected = roberta(texts)
    np.testing.assert_array_equal(found["input_ids"], expected["input_ids"])
    places = np.flatnonzero(expected["input_ids"][0] == roberta.mask_id)
    assert found["masked_lm_positions"][0].numpy().tolist() == places.tolist()


def test_sentences_of_xlnet_in_windows(xlnet_tokenizer):
    words = ["the", "film", "was", "very", "good"]
    sentence = sentence_of_words("1", words, None, None)
    rows = tokenize_sentences([sentence], xlnet_tokenizer, 6, 3)
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    ids = [piece for word in words for piece in xlnet_tokenizer.encode(word)]
    assert rows.ids.tolist() == [*ids[:4], sep, cls, *ids[3:], sep, cls]
    assert rows.words.tolist() == [0, 1, 2, 3, -1, -1, 3, 4, -1, -1]
    [batch] = evaluation_dataset(rows, 2, 6)
    expected = [[0, 0, 0, 0, 0, 2], [0, 0, 0, 2, 3, 3]]
    assert batch["segment_ids"].numpy().tolist() == expected
    features = RowFeatures(xlnet_tokenizer, 6, 3)
    found, *_, first = features.windows(tf.constant([sentence.text]))
    for name, array in found.items():
        np.testing.assert_array_equal(array, batch[name], name)
    expected = [[0, 1, 2, 3, -1, -1], [-1, 4, -1, -1, -1, -1]]
    assert first.numpy().tolist() == expected


@pytest.fixture
def windows(xlnet_tokenizer):
    answers = (Answer("the plot", _CONTEXT.index("the plot")),)
    questions = (
        Question("1", "is it good", answers),
        Question("2", "it", (), is_impossible=True),
    )
    paragraphs = [Paragraph(_CONTEXT, questions)]
    [found] = windows_of(paragraphs, xlnet_tokenizer, _SIZES, {}, True)
    return found


def test_windows_of_xlnet_begin_with_the_text(windows, xlnet_tokenizer):
    text, asked = (xlnet_tokenizer.encode(t) for t in (_CONTEXT, "is it"))
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    features = features_of(windows, 10)
    assert windows.layout == CLS_LAST.padded_after
    assert len(text) == 10 and windows.question_index.tolist() == [0, 0, 0, 1, 1, 1]
    spans = xlnet_tokenizer.encode_with_offsets(_CONTEXT)[1]
    for window, first in enumerate((0, 3, 6)):
        part = text[first : first + 5]
        row = [*part, sep, *asked, sep, cls]
        length = len(row)
        assert features["input_ids"][window, :length].tolist() == row
        segments = [0] * (len(part) + 1) + [1] * 3 + [2] + [3] * (10 - length)
        assert features["segment_ids"][window].tolist() == segments
        assert features["input_mask"][window].sum() == length
        may = [0] * len(part) + [1] * 4 + [0] + [1] * (10 - length)
        assert features["p_mask"][window].tolist() == may
        own = windows.spans[windows.starts[window] :][: len(part)]
        np.testing.assert_array_equal(own, spans[first : first + 5])
    # "the plot" are the tokens 6 and 7 of the text; without answer it is [CLS].
    assert windows.answers[1:3].tolist() == [[3, 4, 0], [0, 1, 0]]
    without = np.array([0, 3, 4, 5])
    ends = windows.lengths[without] - 1
    expected = np.stack([ends, ends, np.ones(4)], axis=1)
    np.testing.assert_array_equal(windows.answers[without], expected)


def test_windows_of_xlnet_in_a_graph(windows, xlnet_tokenizer):
    asked = tf.constant(["is it good", "it"])
    features = WindowFeatures(xlnet_tokenizer, _SIZES)
    found, layout, starts, ends = features.windows(asked, tf.constant([_CONTEXT] * 2))
    expected = features_of(windows, 10)
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    np.testing.assert_array_equal(layout.cls_positions, windows.lengths - 1)
    inside = np.arange(10) < windows.text_ends[:, None]
    np.testing.assert_array_equal(layout.is_text, inside)
    spans = windows.padded(windows.spans, 10)
    np.testing.assert_array_equal(tf.stack([starts, ends], -1), spans)
    best = windows.padded(windows.is_max_context, 10)
    np.testing.assert_array_equal(layout.max_context(), best)
