"""Data, labels and weights that a classifier takes, and those that it refuses."""

import dataclasses

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

import albert_tf
from albert_tf.errors import UserError
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import features_and_labels
from albert_tf.tasks.classification.labels import balanced_weights
from albert_tf.tasks.classification.labels import given_names
from albert_tf.tasks.classification.labels import label_array
from albert_tf.tasks.classification.labels import label_names
from albert_tf.tasks.classification.labels import list_of_labels
from albert_tf.tasks.classification.labels import training_and_held_out
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import TokenizedExamples

_ONE = create_task("single_label", "t", labels=("glad", "sad"))
_SEVERAL = create_task("multi_label", "t", labels=("x", "y", "z"))


def names_found(values):
    return label_names(TextTask.kinds["single_label"], values)


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (names_found, ["x", "x"], r"labels has 1 label\(s\); expected at least 2"),
        (names_found, [0.5, 1.0], r"labels\[0\]: expected the name of a label"),
        (names_found, ["x", "y\0"], r"labels\[1\]: a label holds a NUL byte"),
        (names_found, ["x", "\ud83d"], r"labels\[1\]: a label is not UTF-8"),
        (list_of_labels, "xy", "labels must be a list, got 'xy'"),
        (list_of_labels, {"x", "y"}, "labels must be a list, got a set, which"),
        (given_names, ["x", " x"], "labels repeats 'x'; give each label once"),
        (given_names, ["x", "\u3000"], "labels has an empty name; give each"),
        (given_names, ["x", None], r"labels\[1\]: expected the name of a label or its"),
        (given_names, ["x", "a\tb"], r"labels\[1\]: the label 'a\\tb' holds a tab"),
        (lambda own: label_array(_ONE, own), [2], r"labels\[0\]: there is no label 2"),
        (lambda own: label_array(_ONE, own), [0, -1], r"\[1\]: there is no label -1"),
        (
            lambda own: label_array(_SEVERAL, own),
            [[0, 1, 0]],
            r"labels\[0\]: give each label that applies once, not \[0, 1, 0\]",
        ),
        (
            lambda own: label_array(create_task("regression", "t"), own),
            ["x"],
            r"labels\[0\]: .*not a number",
        ),
    ],
)
def test_labels_that_are_none(read, values, message):
    with pytest.raises(UserError, match=message):
        read(values)


def test_names_and_numbers_of_labels():
    assert label_array(_ONE, ["sad", 0, np.int64(1), "glad"]).tolist() == [1, 0, 1, 0]
    assert names_found([10, 9]) == ("9", "10")
    assert given_names(iter([" b", 1])) == ("b", "1")


def examples(count=8):
    numbers = np.arange(count)
    ones = np.ones(count, np.int32)
    return TokenizedExamples(ones, numbers, ones, ones, np.int32(numbers % 2))


def test_weights_of_texts_and_labels():
    for given in ({"class_weight": {"sad": 3.0}}, {"class_weight": {1: 3}}):
        learned, _ = training_and_held_out(_ONE, examples(4), **given)
        assert learned.weights.tolist() == [1, 3, 1, 3]
    both = {"class_weight": {"sad": 3}, "sample_weight": iter([0, 2, 3, 4])}
    learned, held_out = training_and_held_out(_ONE, examples(4), 0.5, **both)
    assert learned.weights.tolist() == [0, 6]
    assert held_out.weights.tolist() == [3, 4]  # whatever their labels
    [batch] = evaluation_dataset(learned, 4, 8).map(features_and_labels)
    assert batch[2].numpy().tolist() == [0, 6]


def test_balanced_weights_are_those_of_scikit_learn():
    labels = np.int32([0, 0, 0, 0, 1, 0, 1, 1])
    data = dataclasses.replace(examples(8), labels=labels)
    learned, _ = training_and_held_out(_ONE, data, 0.25, class_weight="balanced")
    expected = compute_sample_weight("balanced", labels[:6])
    np.testing.assert_allclose(learned.weights, expected)
    assert balanced_weights(_ONE, np.int32([1, 1])).tolist() == [1, 1]
    with pytest.raises(
        UserError, match="class_weight='b': expected 'balanced', or a d"
    ):
        training_and_held_out(_ONE, data, class_weight="b")
    with pytest.raises(UserError, match="texts that have one label each"):
        training_and_held_out(_SEVERAL, data, class_weight={"x": 1})
    with pytest.raises(UserError, match="texts that have one label each"):
        balanced_weights(_SEVERAL, np.int32([[0, 1]]))


def test_the_end_is_held_out():
    learned, held_out = training_and_held_out(_ONE, examples(), 0.25)
    assert learned.starts.tolist() == [0, 1, 2, 3, 4, 5]
    assert (held_out.starts.tolist(), held_out.labels.tolist()) == ([6, 7], [0, 1])
    assert len(training_and_held_out(_ONE, examples(), 0.3)[1]) == 3  # as Keras rounds
    assert training_and_held_out(_ONE, examples())[1] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation_split": 0.99}, "of 8 texts leaves none to learn from or none"),
        ({"validation_split": 2}, "validation_split=2 of 8 texts"),
        ({"sample_weight": [1]}, "sample_weight has 1 for 8 texts"),
        ({"sample_weight": [-1] * 8}, "sample_weight must be numbers of 0 or more"),
        ({"class_weight": {"sad": float("nan")}}, "class_weight must be numbers of 0"),
    ],
)
def test_weights_and_shares_that_do_not_fit(arguments, message):
    with pytest.raises(UserError, match=message):
        training_and_held_out(_ONE, examples(), **arguments)


def test_wrong_beginnings(pretrained):
    with pytest.raises(UserError, match="label_kind='binary': expected one of single"):
        albert_tf.TextClassifier(pretrained, label_kind="binary")
    both = {"validation_split": 0.5, "validation_data": (["a"], ["x"])}
    texts, labels = ["a", "b"], ["x", "y"]
    for own, given, changes, message in (
        ({"max_length": 33}, texts, {}, "max_length=33: expected 5 to 32, the num"),
        ({}, texts, both, "Give either validation_data or validation_s"),
        ({}, ["a"], {}, "one label for each text; got 2 for 1"),
        ({}, ["a", 1], {}, r"texts\[1\] must be a str, got int"),
        (
            {"labels": ["x"], "label_kind": "regression"},
            texts,
            {},
            "label_kind='regression' has no labels",
        ),
    ):
        classifier = albert_tf.TextClassifier(pretrained, **own)
        with pytest.raises(UserError, match=message):
            classifier.fit(given, labels, **changes)
    classifier = albert_tf.TextClassifier(pretrained)
    with pytest.raises(UserError, match="was not fine-tuned for labels; call fit"):
        classifier.predict("good")
    with pytest.raises(TypeError, match="multiple values .*'max_length'"):
        classifier.fit(texts, labels, max_length=8)
