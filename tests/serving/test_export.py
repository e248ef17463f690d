"""The served answers equal the Python path's, whatever the text."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.tokenized_examples import tokenize_texts
from tests.serving.answers import example

pytestmark = pytest.mark.slow

_TEXTS = [
    "the film was very good .",
    "",
    "   ",
    "good",
    "it is not a bad plot, and not a good one. " * 40,
    b"bad \xff\xfe film \xc3",
    "films plotting über 电影 \u2028 \U0001f600",
]
_DECODED = [t if isinstance(t, str) else t.decode("utf-8", "replace") for t in _TEXTS]


def _python_path(served, texts, pairs=None):
    """Probabilities by the tokenizer and the model, no graph of serving involved."""
    examples = tokenize_texts(texts, pairs, served.tokenizer, served.length)
    logits = OutputsPredictor(served.model, 16, served.length)(examples)
    return served.task.probabilities(logits)


def test_classification_of_strings(classifier):
    answers = Predictor(classifier.version).arrays(_TEXTS * 15)
    expected = _python_path(classifier, _DECODED * 15)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    labels = answers["label"].tolist()
    assert labels == [classifier.task.labels[i] for i in expected.argmax(axis=1)]


def test_pairs_are_truncated_as_in_training(pair_classifier):
    words = np.random.default_rng(0).choice(["good", "bad", "film"], (12, 40))
    texts = [" ".join(row[: 3 * i]) for i, row in enumerate(words)]
    pairs = [" ".join(row[: 40 - 3 * i]) for i, row in enumerate(words)]
    answers = Predictor(pair_classifier.version).arrays(texts, pairs)
    expected = _python_path(pair_classifier, texts, pairs)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)


def test_the_model_is_in_the_file_once(classifier):
    data = (classifier.version / "saved_model.pb").read_bytes()
    saved = saved_model_pb2.SavedModel.FromString(data)
    functions = saved.meta_graphs[0].graph_def.library.function
    with_products = [f for f in functions if any(n.op == "MatMul" for n in f.node_def)]
    assert len(with_products) == 1


def test_examples_may_leave_mask_and_segments_out(classifier):
    signatures = tf.saved_model.load(str(classifier.version)).signatures
    batch = {"input_ids": tf.constant([[2, 7, 11, 3, 0], [2, 12, 6, 12, 3]])}
    mask = tf.sequence_mask((4, 5), 5, tf.int32)
    features = {**batch, "input_mask": mask, "segment_ids": tf.zeros_like(mask)}
    expected = signatures["tokens"](**features)["probabilities"]
    rows = [example(input_ids=[2, 7, 11, 3]), example(input_ids=[2, 12, 6, 12, 3])]
    answer = signatures["examples"](examples=tf.constant(rows))
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)


def test_numbers_and_any_number_of_labels(opened):
    served = opened("regression")
    answers = Predictor(served.model, served.tokenizer).arrays(_TEXTS)
    expected = _python_path(served, _DECODED)[:, 0]
    np.testing.assert_allclose(answers["score"], expected, atol=1e-5)
    served = opened("multi_label")
    predictor, labels = Predictor(served.folder), served.task.labels
    answers = predictor.arrays(_TEXTS)
    expected = _python_path(served, _DECODED)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    names = np.where(expected > 0.5, labels, "")
    np.testing.assert_array_equal(answers["labels"], names)
    answer = predictor(_TEXTS[0])
    assert answer["labels"] == [name for name in names[0] if name]
    assert tuple(answer["probabilities"]) == labels


def test_masked_lm(masked_lm):
    texts = ["the [MASK] was [MASK]", "good", "a [MASK]film"]
    answers = Predictor(masked_lm.version).arrays(texts)
    positions = [[2, 4], [0, 0], [2, 0]]
    np.testing.assert_array_equal(answers["masked_lm_positions"], positions)
    tokenizer = masked_lm.tokenizer
    mask, (the, was) = tokenizer.mask_id, tokenizer.encode("the was")
    ids = [[tokenizer.cls_id, the, mask, was, mask, tokenizer.sep_id]]
    logits = masked_lm.model(
        {"input_ids": tf.constant(ids), "masked_lm_positions": tf.constant([[2, 4]])}
    )["masked_lm_logits"]
    expected = np.sort(tf.nn.softmax(logits).numpy()[0])[:, ::-1][:, :5]
    np.testing.assert_allclose(answers["probabilities"][0], expected, atol=1e-5)
    best = np.argmax(logits[0], axis=-1)
    assert [t[0] for t in answers["tokens"][0]] == [tokenizer.pieces[i] for i in best]
    assert set(answers["tokens"][1].ravel()) == {""}
    assert answers["probabilities"][2, 1].tolist() == [0.0] * 5
