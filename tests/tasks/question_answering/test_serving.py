"""Strings to answers in a graph: equal to the command's windows and predictions."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import beams_of_outputs
from albert_tf.tasks.question_answering.answers import predict
from albert_tf.tasks.question_answering.in_graph import WindowFeatures
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.serving import Answering
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from tools.verify.squad_windows import features_of

PAIRS = [
    ("who is it", "a b\u0301 c  d efg\n the end of it. " * 3),
    ("", "x"),
    ("a b c d e f g", " \t "),
    ("师父是谁", "悟空的师父是唐僧。悟空 is x"),
    ("q", ""),
    ("who", " a a a a b a a  b "),
]


def windows_of_pairs(pairs, tokenizer, sizes):
    paragraphs = [
        Paragraph(context, (Question(str(i), question),))
        for i, (question, context) in enumerate(pairs)
    ]
    return Windows.joined(list(windows_of(paragraphs, tokenizer, sizes, {})))


def strings(pairs):
    return [tf.constant(part) for part in zip(*pairs, strict=True)]


@pytest.mark.parametrize("stride", [3, 40])
def test_windows(stride, letters):
    sizes = WindowSizes(12, stride, 4)
    expected = windows_of_pairs(PAIRS, letters, sizes)
    features = WindowFeatures(letters, sizes, 14)
    found, layout, starts, ends = features.windows(*strings(PAIRS))
    for name, array in found.items():
        np.testing.assert_array_equal(array, features_of(expected, 14)[name], name)
    np.testing.assert_array_equal(layout.text, expected.question_index)
    best = expected.padded(expected.is_max_context, 14)
    np.testing.assert_array_equal(layout.max_context(), best)
    spans = expected.padded(expected.spans, 14)
    np.testing.assert_array_equal(tf.stack([starts, ends], -1), spans)
    inside = features_of(expected, 14)["p_mask"] == 0
    inside[:, 0] = False
    np.testing.assert_array_equal(layout.is_text, inside)


def scores_of(features):
    """Some number for each token that depends on it and its neighbours."""
    ids = tf.cast(features["input_ids"], tf.float32)
    place = tf.cast(tf.range(tf.shape(ids)[1])[None, :], tf.float32)
    noise = [tf.sin(ids * (k + 1.7) + place * (2.1 - k)) for k in (0, 1, 2)]
    # Halves, so that there are ties.
    return [tf.round(4 * one) / 2 for one in noise]


def version_1(features):
    start, end, _ = scores_of(features)
    return {"start_logits": start, "end_logits": end}


def version_2(features):
    start, end, null = scores_of(features)
    starts = tf.math.top_k(start, 3)
    ends = tf.math.top_k(end[:, None] * tf.constant([1.0, -1.0, 2.0])[:, None], 4)
    rows = [tf.shape(start)[0], 12]
    return {
        "start_top_log_probs": starts.values,
        "start_top_index": starts.indices,
        "end_top_log_probs": tf.reshape(ends.values, rows),
        "end_top_index": tf.reshape(ends.indices, rows),
        "cls_logits": tf.reduce_sum(
            tf.where(features["input_ids"] > 0, null, 0.0), axis=1
        ),
    }


def predictions(pairs, tokenizer, sizes, compute, n_best_size, longest):
    windows = windows_of_pairs(pairs, tokenizer, sizes)
    features = features_of(windows, sizes.max_seq_length)
    outputs = {name: np.array(value) for name, value in compute(features).items()}
    if "start_logits" in outputs:
        scores = beams_of_logits(*outputs.values(), n_best_size, windows.lengths)
    else:
        scores = beams_of_outputs(outputs)
    return predict(windows, scores, n_best_size, longest)


def check(found, expected, pairs, top_k):
    assert found["answers"].shape == found["start"].shape == (len(pairs), top_k)
    for row, prediction in enumerate(expected):
        candidates = [c for c in prediction.candidates if c.start_score > -1e5]
        if [c.text for c in candidates] == ["empty"]:
            candidates = []
        candidates = candidates[:top_k]
        filling = top_k - len(candidates)
        answers = [answer.decode() for answer in found["answers"][row].numpy()]
        assert answers == [c.text for c in candidates] + [""] * filling
        for name in ("start", "end"):
            places = [getattr(c, name) for c in candidates] + [0] * filling
            assert found[name][row].numpy().tolist() == places
        shares = prediction.probabilities()[: len(candidates)] + [0] * filling
        np.testing.assert_allclose(found["scores"][row], shares, rtol=1e-6)
        context = pairs[row][1]
        for answer, start, end in zip(
            answers, found["start"][row], found["end"][row], strict=True
        ):
            assert context[int(start) : int(end)] == answer


@pytest.mark.slow
@pytest.mark.parametrize(("compute", "stride"), [(version_1, 2), (version_2, 5)])
def test_answers(compute, stride, letters):
    sizes = WindowSizes(11, stride, 3)
    module = Answering(
        WindowFeatures(letters, sizes, 5), compute, n_best_size=6, max_answer_length=4
    )
    expected = predictions(PAIRS, letters, sizes, compute, 6, 4)
    call = tf.function(module, input_signature=[tf.TensorSpec([None], tf.string)] * 2)
    found = call(*strings(PAIRS))
    check(found, expected, PAIRS, 3)
    if compute is version_2:
        odds = [prediction.null_odds for prediction in expected]
        np.testing.assert_allclose(found["no_answer_score"], odds)
    # Alone, and so padded to another length, each has the same answers.
    for row, pair in enumerate(PAIRS):
        alone = call(*strings([pair]))
        for name, values in found.items():
            np.testing.assert_array_equal(alone[name][0], values[row], name)


def test_no_answer_score_of_version_1(letters):
    def compute(features):
        shape = tf.shape(features["input_ids"])
        logits = tf.tile([[1.0, 0, 0, 2.5, 4.0, 0, 0]], [shape[0], 1])
        return {"start_logits": logits, "end_logits": logits[:, : shape[1]]}

    module = Answering(WindowFeatures(letters, WindowSizes(7, 9, 1), 7), compute)
    found = module(*strings([("x", "a b c")]))
    assert found["answers"][0, 0] == b"b"
    # [CLS] begins and ends with 1, "b" with 4.
    assert found["no_answer_score"].numpy().tolist() == [2.0 - 8.0]
