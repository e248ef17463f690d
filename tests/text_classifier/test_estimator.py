"""A classifier as an estimator of scikit-learn's kind, and its report."""

import json
import pickle

import numpy as np
import pytest
import sklearn.metrics
from sklearn import base
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

import albert_tf
from albert_tf.errors import UserError

_TEXTS = ["a good film", "the plot was bad", "it is not good", "very bad .", "and it"]
_LABELS = ["yes", "no", "no", "yes", "yes"]


@pytest.fixture
def tuned(saved_model):
    """Opens a fine-tuned model of a kind."""
    return lambda kind: albert_tf.TextClassifier.from_pretrained(saved_model(kind))


@pytest.mark.slow
def test_probabilities_score_and_report(tuned, tmp_path):
    classifier = tuned("classification")
    assert classifier.classes_.tolist() == ["no", "yes"]
    answers = classifier.predict(_TEXTS)
    shares = classifier.predict_proba(np.array(_TEXTS, object))
    expected = [[*answer["probabilities"].values()] for answer in answers]
    np.testing.assert_allclose(shares, expected, atol=1e-6)
    found = [answer["label"] for answer in answers]
    accuracy = sklearn.metrics.accuracy_score(_LABELS, found)
    assert classifier.score(_TEXTS, _LABELS) == pytest.approx(accuracy)
    report = classifier.report(_TEXTS, _LABELS)
    assert report.accuracy == pytest.approx(accuracy)
    confusion = sklearn.metrics.confusion_matrix(_LABELS, found)
    np.testing.assert_array_equal(report.confusion, confusion)
    scores = sklearn.metrics.precision_recall_fscore_support
    columns = scores(_LABELS, found, zero_division=0)
    for label, values in zip(("no", "yes"), zip(*columns, strict=True), strict=True):
        assert [*report.classes[label].values()] == pytest.approx(list(values))
    lines = str(report).splitlines()
    assert lines[0].split() == ["precision", "recall", "f1", "support"]
    assert [line.split()[0] for line in lines[1:4]] == ["no", "yes", "mean"]
    mean = np.mean(columns[2])
    assert lines[3].split()[3:] == [f"{mean:.3f}", "5"]
    assert lines[-1] == f"accuracy {accuracy:.3f}"
    for name in ("r.txt", "r.json", "r.html"):
        report.save(tmp_path / name)
    assert (tmp_path / "r.txt").read_text() == f"{report}\n"
    assert json.loads((tmp_path / "r.json").read_text()) == report.to_dict()
    page = (tmp_path / "r.html").read_text()
    assert page.count("<table>") == 2 and report._repr_html_() in page
    cells = "".join(f"<td><bdi>{own}</bdi></td>" for own in ("no", *confusion[0]))
    assert cells in page
    for name, message in (
        ("r.pdf", "r.pdf: expected a name that ends in .txt, "),
        ("r.png", "r.png: pictures need matplotlib: pip install 'albert-tf.plots.'"),
    ):
        with pytest.raises(UserError, match=message):
            report.save(tmp_path / name)


@pytest.mark.slow
def test_several_labels(tuned, tmp_path):
    classifier = tuned("multi_label")
    labels = [["好"], ["坏", "plain"], [], ["plain"], ["好", "坏"]]
    found = [answer["labels"] for answer in classifier.predict(_TEXTS)]
    names = classifier.classes_.tolist()
    truth, predicted = (
        np.array([[name in row for name in names] for row in rows])
        for rows in (labels, found)
    )
    expected = sklearn.metrics.accuracy_score(truth, predicted)
    assert classifier.score(_TEXTS, labels) == pytest.approx(expected)
    report = classifier.report(_TEXTS, labels)
    confusion = sklearn.metrics.multilabel_confusion_matrix(truth, predicted)
    np.testing.assert_array_equal(report.confusion, confusion)
    with pytest.raises(UserError, match="r.png: several labels per text have no pic"):
        report.save(tmp_path / "r.png")
    assert report._repr_html_().count("<table>") == 1


@pytest.mark.slow
def test_numbers(tuned):
    classifier = tuned("regression")
    values = [1.0, 0.5, -1.0, 2.0, 0.0]
    found = [answer["score"] for answer in classifier.predict(_TEXTS)]
    expected = sklearn.metrics.r2_score(values, found)
    assert classifier.score(_TEXTS, values) == pytest.approx(expected, rel=1e-4)
    assert base.is_regressor(classifier) and not hasattr(classifier, "classes_")
    for method in (classifier.predict_proba, lambda t: classifier.report(t, values)):
        with pytest.raises(UserError, match="is for labels, but the model predicts nu"):
            method(_TEXTS)


def test_arguments_are_parameters(pretrained):
    labels = ["glad", "sad"]
    sizes = {"max_length": 12, "hidden_dropout_prob": 0.2}
    classifier = albert_tf.TextClassifier(pretrained, labels, **sizes)
    parameters = classifier.get_params()
    assert parameters["labels"] is labels
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


@pytest.mark.slow
def test_cross_validation(pretrained):
    texts, labels = ["good film", "bad plot"] * 4, np.array([1, 0] * 4)
    classifier = albert_tf.TextClassifier(pretrained, max_length=12)
    settings = {"epochs": 8, "batch_size": 2, "learning_rate": 2e-3, "verbose": 0}
    evaluation = {"cv": 2, "params": settings, "error_score": "raise"}
    scores = cross_val_score(classifier, texts, labels, **evaluation)
    assert scores.tolist() == [1.0, 1.0]
    assert classifier.model is None  # copies have learned
    with pytest.raises(UserError, match="call fit first"):
        classifier.predict_proba(texts)
