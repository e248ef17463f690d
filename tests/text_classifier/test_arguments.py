"""Data, labels and weights that a classifier takes, and those that it refuses."""

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError

_TEXTS = ["good film", "bad plot"] * 4


@pytest.mark.parametrize(
    ("arguments", "data", "message"),
    [
        ({}, (["a"], ["x", "y"]), "one label for each text; got 2 for 1"),
        ({}, ([], []), r"labels has 0 label\(s\); expected at least 2"),
        ({}, (["a", "b"], ["x", "x"]), r"labels has 1 label\(s\); expected at least 2"),
        ({}, (["a", "b"], "xy"), "labels must be a list, got 'xy'"),
        ({}, (["a", "b"], [0.5, 1.0]), r"labels\[0\]: expected the name of a label"),
        ({}, (["a", "b"], [None, 1]), r"labels\[0\]: expected the name of a label"),
        ({}, (["a", 1], ["x", "y"]), r"texts\[1\] must be a str, got int"),
        ({}, (["a", "b"], {"x", "y"}), "labels must be a list, got a set, which"),
        (
            {"label_kind": "multi_label", "labels": ["x", "y", "z"]},
            (["a"], [[0, 1, 0]]),
            r"labels\[0\]: give each label that applies once, not \[0, 1, 0\]",
        ),
        ({"labels": ["x", "y"]}, (["a"], [2]), r"labels\[0\]: there is no label 2"),
        ({"labels": "x,y"}, (), "labels must be a list, got 'x,y'"),
        ({"labels": {"x", "y"}}, (), "labels must be a list, got a set, which"),
        ({"labels": ["x", " x"]}, (), "labels repeats 'x'; give each label once"),
        ({"labels": ["x", "\u3000"]}, (), "labels has an empty name; give each"),
        (
            {"labels": ["x", None]},
            (),
            r"labels\[1\]: expected the name of a label or its",
        ),
        ({"labels": ["x", "a\tb"]}, (), r"labels\[1\]: the label 'a\\tb' holds a tab"),
        ({}, (["a", "b"], ["x", "y\0"]), r"labels\[1\]: a label holds a NUL byte"),
        ({}, (["a", "b"], ["x", "\ud83d"]), r"labels\[1\]: a label is not UTF-8"),
        ({"label_kind": "regression"}, (["a"], ["x"]), r"labels\[0\]: .*not a number"),
        (
            {"label_kind": "regression", "labels": ["x"]},
            (["a"], [1.0]),
            "label_kind='regression' has no labels",
        ),
    ],
)
def test_wrong_data(arguments, data, message, pretrained):
    with pytest.raises(UserError, match=message):
        albert_tf.TextClassifier(pretrained, **arguments).fit(*data, verbose=0)


@pytest.mark.slow
def test_weights_of_texts_and_labels(pretrained):
    """They count as the same text learned that often."""
    found = {}
    texts, labels = ["good film", "bad plot"], ["glad", "sad"]
    for name, (more, arguments) in {
        "plain": (0, {}),
        "repeated": (2, {}),
        "class": (0, {"class_weight": {"sad": 3.0}}),
        "id": (0, {"class_weight": {1: 3}}),
        "sample": (0, {"sample_weight": iter([1, 3])}),
    }.items():
        classifier = albert_tf.TextClassifier(
            pretrained, hidden_dropout_prob=0.0, classifier_dropout_prob=0.0
        )
        given = texts + texts[1:] * more, labels + labels[1:] * more
        # The mean is over the texts, whatever their weights.
        optimizer = keras.optimizers.SGD(0.1 if not more else 0.2)
        settings = {"optimizer": optimizer, "epochs": 1, "verbose": 0}
        classifier.fit(*given, **settings, **arguments)
        found[name] = classifier.model.classifier.output_weights.numpy()
    assert not np.allclose(found["plain"], found["class"], atol=1e-4)
    for name in ("class", "id", "sample"):
        np.testing.assert_allclose(found[name], found["repeated"], atol=1e-5)


@pytest.mark.slow
def test_a_share_is_held_out(pretrained):
    classifier = albert_tf.TextClassifier(pretrained, max_length=12)
    labels = ["glad"] * 6 + ["sad"] * 2
    settings = {"epochs": 1, "verbose": 0, "batch_size": 1}
    settings["optimizer"] = keras.optimizers.SGD(0.0)
    history = classifier.fit(_TEXTS, labels, validation_split=0.25, **settings)
    assert history.params["steps"] == 6
    expected = classifier.evaluate(_TEXTS[6:8], labels[6:])
    found = history.history["val_accuracy"], history.history["val_loss"]
    assert found == ([expected["accuracy"]], [pytest.approx(expected["loss"], 1e-5)])
    for arguments, message in (
        ({"validation_split": 0.99}, "of 8 texts leaves none to learn from or none"),
        ({"validation_split": 2}, "validation_split=2 of 8 texts"),
        (
            {"validation_split": 0.5, "validation_data": (_TEXTS, labels)},
            "Give either validation_data or validation_split",
        ),
        ({"sample_weight": [1]}, "sample_weight has 1 for 8 texts"),
        ({"sample_weight": [-1] * 8}, "sample_weight must be numbers of 0 or more"),
        ({"class_weight": {"sad": float("nan")}}, "class_weight must be numbers of 0"),
    ):
        with pytest.raises(UserError, match=message):
            classifier.fit(_TEXTS, labels, **settings, **arguments)


def test_wrong_beginnings(pretrained, tmp_path):
    with pytest.raises(UserError, match="There is no file or folder nowhere; correct"):
        albert_tf.TextClassifier("nowhere")
    with pytest.raises(UserError, match="label_kind='binary': expected one of single"):
        albert_tf.TextClassifier(pretrained, label_kind="binary")
    classifier = albert_tf.TextClassifier(pretrained, max_length=33)
    for _ in range(2):
        with pytest.raises(UserError, match="max_length=33: expected 5 to 32, the num"):
            classifier.fit(["a", "b"], ["x", "y"])
    with pytest.raises(UserError, match="was not fine-tuned for labels; call fit"):
        albert_tf.TextClassifier(pretrained).predict("good")
    with pytest.raises(TypeError, match="multiple values .*'max_length'"):
        albert_tf.TextClassifier(pretrained).fit(["a", "b"], ["x", "y"], max_length=8)
