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


def of_one(values):
    return label_array(_ONE, values)


def of_several(values):
    return label_array(_SEVERAL, values)


def of_numbers(values):
    return label_array(create_task("regression", "t"), values)


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
        (of_one, [2], r"labels\[0\]: there is no label 2"),
        (of_one, [0, -1], r"\[1\]: there is no label -1"),
        (of_several, [[0, 1, 0]], r"labels\[0\]: give .* once, not \[0, 1, 0\]"),
        (of_numbers, ["x"], r"labels\[0\]: .*not a number"),
    ],
)
def test_labels_that_are_none(read, values, message):
    with pytest.raises(UserError, match=message):
        read(values)


def test_names_and_numbers_of_labels():
    assert of_one(["sad", 0, np.int64(1), "glad"]).tolist() == [1, 0, 1, 0]
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


def test_the_end_is_held_out():
    learned, held_out = training_and_held_out(_ONE, examples(), 0.25)
    assert learned.starts.tolist() == [0, 1, 2, 3, 4, 5]
    assert (held_out.starts.tolist(), held_out.labels.tolist()) == ([6, 7], [0, 1])
    assert len(training_and_held_out(_ONE, examples(), 0.3)[1]) == 3  # as Keras rounds
    assert training_and_held_out(_ONE, examples())[1] is None


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        (_ONE, {"validation_split": 0.99}, "of 8 texts leaves none to learn from or"),
        (_ONE, {"validation_split": 2}, "validation_split=2 of 8 texts"),
        (_ONE, {"sample_weight": [1]}, "sample_weight has 1 for 8 texts"),
        (_ONE, {"sample_weight": [-1] * 8}, "sample_weight must be numbers of 0 or"),
        (_ONE, {"class_weight": {"sad": np.nan}}, "class_weight must be numbers of 0"),
        (_ONE, {"class_weight": "b"}, "class_weight='b': expected 'balanced', or a d"),
        (_SEVERAL, {"class_weight": {"x": 1}}, "texts that have one label each"),
        (_SEVERAL, {"class_weight": "balanced"}, "texts that have one label each"),
    ],
)
def test_weights_and_shares_that_do_not_fit(task, arguments, message):
    with pytest.raises(UserError, match=message):
        training_and_held_out(task, examples(), **arguments)


_NUMBERS = {"labels": ["x"], "label_kind": "regression"}
_BOTH = {"validation_split": 0.5, "validation_data": (["a"], ["x"])}


@pytest.mark.parametrize(
    ("own", "texts", "changes", "message"),
    [
        ({"label_kind": "binary"}, [], {}, "label_kind='binary': expected one of sing"),
        ({"max_length": 33}, ["a", "b"], {}, "max_length=33: expected 5 to 32, the n"),
        ({}, ["a", "b"], _BOTH, "Give either validation_data or validation_s"),
        ({}, ["a"], {}, "one label for each text; got 2 for 1"),
        ({}, ["a", 1], {}, r"texts\[1\] must be a str, got int"),
        (_NUMBERS, ["a", "b"], {}, "label_kind='regression' has no labels"),
    ],
)
def test_wrong_beginnings(own, texts, changes, message, pretrained):
    with pytest.raises(UserError, match=message):
        albert_tf.TextClassifier(pretrained, **own).fit(texts, ["x", "y"], **changes)


def test_nothing_is_predicted_before_the_fit(pretrained):
    classifier = albert_tf.TextClassifier(pretrained)
    with pytest.raises(UserError, match="was not fine-tuned for labels; call fit"):
        classifier.predict("good")
    with pytest.raises(TypeError, match="multiple values .*'max_length'"):
        classifier.fit(["a", "b"], ["x", "y"], max_length=8)
