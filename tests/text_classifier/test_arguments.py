"""Data, labels and weights that a classifier takes, and those that it refuses."""

import functools
import pickle

import numpy as np
import pytest
import sklearn.exceptions
from sklearn import base
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

import albert_tf
from albert_tf.errors import UserError
from albert_tf.tasks import batching
from albert_tf.tasks.classification import labels
from albert_tf.tasks.classification.labels import training_and_held_out
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.registry import create_task
from tests.tasks.conftest import numbered_rows

_ONE = create_task("single_label", "t", labels=("glad", "sad"))
_SEVERAL = create_task("multi_label", "t", labels=("x", "y", "z"))
_TWO = create_task("multi_label", "t", labels=("x", "y"))


def ids_of(task):
    return functools.partial(labels.label_array, task)


names_found, sets_found = (
    functools.partial(labels.label_names, TextTask.kinds[task.kind])
    for task in (_ONE, _SEVERAL)
)


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (names_found, ["x", "x"], r"labels has 1 label\(s\); expected at least 2"),
        (names_found, [0.5, 1.0], r"labels\[0\]: expected the name of a label"),
        (names_found, ["x", "y\0"], r"labels\[1\]: a label holds a NUL byte"),
        (names_found, ["x", "\ud83d"], r"labels\[1\]: a label is not UTF-8"),
        (sets_found, [[0, 1], [1, 0]], "labels are vectors of 0 and 1; give the names"),
        (sets_found, ["['a' 'b']"], r"\[0\]: the label .* is not a list that can be r"),
        (labels.list_of_labels, "xy", "labels must be a list, got 'xy'"),
        (labels.list_of_labels, {"x"}, "labels must be a list, got a set, which"),
        (labels.given_names, ["x", " x"], "labels repeats 'x'; give each label once"),
        (labels.given_names, ["x", "\u3000"], "labels has an empty name; give each"),
        (labels.given_names, ["x", None], r"\[1\]: expected the name of a label or"),
        (labels.given_names, ["x", "a\tb"], r"\[1\]: the label 'a\\tb' holds a tab"),
        (ids_of(_ONE), [2], r"labels\[0\]: there is no label 2"),
        (ids_of(_ONE), [0, -1], r"\[1\]: there is no label -1"),
        (ids_of(_SEVERAL), [[0, 1, 0]], r"\[0\]: give .* once, not \[0, 1, 0\]"),
        (ids_of(_TWO), [[1, 0]], r"\[0\]: give .* once, not \[1, 0\]; for a vector"),
        (ids_of(_ONE), [True], r"\[0\]: expected the name of a label or its number"),
        (ids_of(create_task("regression", "t")), ["x"], r"labels\[0\]: .*not a number"),
    ],
)
def test_labels_that_are_none(read, values, message):
    with pytest.raises(UserError, match=message):
        read(values)


def test_names_and_numbers_of_labels():
    assert ids_of(_ONE)(["sad", 0, np.int64(1), "glad"]).tolist() == [1, 0, 1, 0]
    assert names_found([10, 9]) == ("9", "10")
    values = [["x"], "['x', 'y']", '["y"]', "x|y"]
    assert sets_found(values) == ("x", "y")
    found = ids_of(_SEVERAL)(values).tolist()
    assert found == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 0]]
    assert ids_of(_SEVERAL)([{2, "x"}, (0, 1), np.array([2])]).tolist() == [
        [1, 0, 1],
        [1, 1, 0],
        [0, 0, 1],
    ]
    assert ids_of(_TWO)([["x", "y"], [1]]).tolist() == [[1, 1], [0, 1]]
    # A number that is a name is that name.
    task = create_task("single_label", "t", labels=("1", "0"))
    assert ids_of(task)([1, 0, "1"]).tolist() == [0, 1, 0]
    assert sets_found(["1.0", "1", "10", "2"]) == ("1", "2", "10")
    assert labels.given_names(iter([" b", 1])) == ("b", "1")


def examples(count=8):
    return numbered_rows([1] * count, np.arange(count, dtype=np.int32) % 2)


def test_weights_of_texts_and_labels():
    for given in ({"class_weight": {"sad": 3.0}}, {"class_weight": {1: 3}}):
        learned, _ = training_and_held_out(_ONE, examples(4), **given)
        assert learned.weights.tolist() == [1, 3, 1, 3]
    both = {"class_weight": {"sad": 3}, "sample_weight": iter([0, 2, 3, 4])}
    learned, held_out = training_and_held_out(_ONE, examples(4), 0.5, **both)
    assert learned.weights.tolist() == [0, 6]
    assert held_out.weights.tolist() == [3, 4]  # whatever their labels
    batches = batching.evaluation_dataset(learned, 4, 8)
    [batch] = batches.map(batching.features_and_labels)
    assert batch[2].numpy().tolist() == [0, 6]


def test_balanced_weights_are_those_of_scikit_learn():
    ids = np.int32([0, 0, 0, 0, 1, 0, 1, 1])
    data = numbered_rows([1] * 8, ids)
    learned, _ = training_and_held_out(_ONE, data, 0.25, class_weight="balanced")
    expected = compute_sample_weight("balanced", ids[:6])
    np.testing.assert_allclose(learned.weights, expected)
    assert labels.balanced_weights(_ONE, np.int32([1, 1])).tolist() == [1, 1]


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
        (_ONE, {"validation_split": 1e-20}, "of 8 texts leaves none to learn from or"),
        (_ONE, {"validation_split": -0.1}, "validation_split=-0.1 of 8 texts"),
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


def test_arguments_are_parameters(pretrained):
    names = ["glad", "sad"]
    sizes = {"max_length": 12, "hidden_dropout_prob": 0.2}
    classifier = albert_tf.TextClassifier(pretrained, names, **sizes)
    parameters = classifier.get_params()
    assert parameters["labels"] is names
    assert parameters["hidden_dropout_prob"] == 0.2
    again = base.clone(classifier)
    copy = pickle.loads(pickle.dumps(again))
    assert again.get_params() == copy.get_params() == parameters
    assert again.set_params() is again
    assert again.set_params(max_length=8).get_params()["max_length"] == 8
    assert again._max_length == 8
    with pytest.raises(UserError, match="takes no max_len; did you mean max_length"):
        again.set_params(max_len=8)
    assert base.is_classifier(classifier) and not hasattr(classifier, "classes_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(classifier)
    for kind, told in (
        ("single_label", ("classifier", False, False)),
        ("multi_label", ("classifier", True, True)),
        ("regression", ("regressor", False, None)),
    ):
        tags = base.clone(classifier).set_params(label_kind=kind).__sklearn_tags__()
        own = tags.classifier_tags and tags.classifier_tags.multi_label
        assert (tags.estimator_type, tags.target_tags.multi_output, own) == told
