"""XLNet's rows of tasks: [CLS] last, in Python and inside a graph, padded as asked."""

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
from albert_tf.tasks.tagging.sentences import Sentence
from albert_tf.tasks.tokenized_examples import from_features
from tools.verify.squad_windows import features_of

_CONTEXT = "the film was very good and the plot was bad"
_SIZES = WindowSizes(max_seq_length=10, doc_stride=3, max_query_length=2)


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


def test_windows_begin_with_the_text(windows, xlnet_tokenizer):
    text, asked = (xlnet_tokenizer.encode(t) for t in (_CONTEXT, "is it"))
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    features = features_of(windows, 10)
    assert windows.layout == CLS_LAST.padded_after
    assert len(text) == 10 and windows.question_index.tolist() == [0, 0, 0, 1, 1, 1]
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
        np.testing.assert_array_equal(
            windows.spans[windows.starts[window] :][: len(part)],
            xlnet_tokenizer.encode_with_offsets(_CONTEXT)[1][first : first + 5],
        )
    # "the plot" are the tokens 6 and 7 of the text; without answer it is [CLS].
    assert windows.answers[1:3].tolist() == [[3, 4, 0], [0, 1, 0]]
    without = np.array([0, 3, 4, 5])
    ends = windows.lengths[without] - 1
    expected = np.stack([ends, ends, np.ones(4)], axis=1)
    np.testing.assert_array_equal(windows.answers[without], expected)


def test_windows_in_a_graph(windows, xlnet_tokenizer):
    asked = tf.constant(["is it good", "it"])
    features = WindowFeatures(xlnet_tokenizer, _SIZES)
    found, layout, starts, ends = features.windows(asked, tf.constant([_CONTEXT] * 2))
    expected = features_of(windows, 10)
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    np.testing.assert_array_equal(layout.cls_positions, windows.lengths - 1)
    inside = np.arange(10) < windows.text_ends[:, None]
    np.testing.assert_array_equal(layout.is_text, inside)
    padded = windows.padded(windows.spans, 10)
    np.testing.assert_array_equal(starts, padded[..., 0])
    np.testing.assert_array_equal(ends, padded[..., 1])
    best = windows.padded(windows.is_max_context, 10)
    np.testing.assert_array_equal(layout.max_context(), best)


@pytest.mark.parametrize("pairs", [None, ["it was bad", "good"]])
def test_rows_of_a_call(xlnet_tokenizer, pairs):
    texts = ["the film", "it was very good"]
    rows = xlnet_tokenizer(texts, pairs, padding=False)
    expected = xlnet_tokenizer(texts, pairs)
    [batch] = evaluation_dataset(from_features(rows, xlnet_tokenizer), 2, 12)
    for name, array in expected.items():
        np.testing.assert_array_equal(batch[name][:, -array.shape[1] :], array, name)


def test_choices_end_with_cls(xlnet_tokenizer):
    choice = Choice("1", "the film was good", "it was _", ("good", "very bad"), 0)
    tokens = tokenize_questions([choice], xlnet_tokenizer, 12, 3)
    [batch] = evaluation_dataset(tokens, 1, 12)
    found = ChoiceFeatures(xlnet_tokenizer, 12, 3)(
        tf.constant(["it was _"]),
        tf.constant(["the film was good"]),
        tf.constant([["good", "very bad"]]),
    )
    texts = ["the film was good"] * 2
    # Of an ending, the last three tokens are kept.
    expected = xlnet_tokenizer(texts, ["it was good", "was very bad"])
    for name, array in expected.items():
        width = array.shape[1]
        np.testing.assert_array_equal(batch[name][0, :, -width:], array)
        assert found[name].shape[2] == width
        np.testing.assert_array_equal(found[name][0], array)


def test_sentences_in_windows(xlnet_tokenizer):
    words = ("the", "film", "was", "very", "good")
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    bounds = tuple(
        (end - len(word), end) for word, end in zip(words, ends.tolist(), strict=True)
    )
    sentence = Sentence("1", " ".join(words), bounds)
    rows = tokenize_sentences([sentence], xlnet_tokenizer, 6, 3)
    sep, cls = xlnet_tokenizer.sep_id, xlnet_tokenizer.cls_id
    pieces = [xlnet_tokenizer.encode(word) for word in words]
    assert {*map(len, pieces)} == {1}
    ids = [piece for [piece] in pieces]
    assert rows.ids.tolist() == [*ids[:4], sep, cls, *ids[3:], sep, cls]
    assert rows.words.tolist() == [0, 1, 2, 3, -1, -1, 3, 4, -1, -1]
    [batch] = evaluation_dataset(rows, 2, 6)
    assert batch["segment_ids"].numpy().tolist() == [
        [0, 0, 0, 0, 0, 2],
        [0, 0, 0, 2, 3, 3],
    ]
    features = RowFeatures(xlnet_tokenizer, 6, 3)
    found, *_, first = features.windows(tf.constant([sentence.text]))
    for name, array in found.items():
        np.testing.assert_array_equal(array, batch[name], name)
    assert first.numpy().tolist() == [
        [0, 1, 2, 3, -1, -1],
        [-1, 4, -1, -1, -1, -1],
    ]
