"""Scores and result files."""

import json

import numpy as np
import pytest
import sklearn.metrics

from albert_tf.tasks import results
from albert_tf.tasks.prediction import probabilities
from albert_tf.tasks.table import Table
from albert_tf.tasks.text_task import TextTask

_TASK = TextTask("t", "single_label", ("no", "yes"), pair=True)
_LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.5]])
_TABLE = Table(
    "t.tsv",
    ["a", "b\tc", "d", "e"],
    ["p", "q", "r", "s"],
    np.array([0, 0, 1, 0], np.int32),
    np.array([0, 1, 3, 4]),
)


def test_score_has_the_metrics_the_loss_and_the_majority():
    scores = results.score(_TASK, _TABLE.labels, _LOGITS)
    assert scores["accuracy"] == 0.5
    assert scores["majority_accuracy"] == 0.75
    right = probabilities(_TASK, _LOGITS)[np.arange(4), _TABLE.labels]
    assert scores["loss"] == pytest.approx(-np.log(right).mean())


def test_metrics_of_a_task_are_data():
    task = TextTask("cola", "single_label", ("0", "1"), metrics=("matthew_corr",))
    assert set(results.score(task, _TABLE.labels, _LOGITS)) == {
        "matthew_corr",
        "loss",
        "majority_accuracy",
    }


def test_probabilities_of_each_kind():
    np.testing.assert_allclose(probabilities(_TASK, _LOGITS).sum(axis=1), 1.0)
    several = TextTask("t", "multi_label", ("a", "b"))
    assert probabilities(several, np.zeros((1, 2))).tolist() == [[0.5, 0.5]]
    assert probabilities(TextTask("t", "regression"), _LOGITS[:, :1])[0, 0] == 2.0


def test_result_files(tmp_path):
    results.write_test_results(tmp_path / "new" / "t.tsv", _TASK, _LOGITS)
    first = (tmp_path / "new" / "t.tsv").read_text().splitlines()[0].split("\t")
    np.testing.assert_allclose(list(map(float, first)), [0.880797, 0.119203], rtol=1e-5)
    results.write_submission(tmp_path / "s.tsv", _TASK, _TABLE, _LOGITS)
    assert (tmp_path / "s.tsv").read_text() == (
        "index\tprediction\n0\tno\n1\tyes\n3\tno\n4\tno\n"
    )
    results.write_errors(tmp_path / "w.tsv", _TASK, _TABLE, _LOGITS)
    assert (tmp_path / "w.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\tno\tyes\tb c\tq\n3\tyes\tno\td\tr\n"
    )
    path = tmp_path / "c.json"
    confusion = results.write_class_scores(path, _TASK, _TABLE.labels, _LOGITS)
    report = json.loads((tmp_path / "c.json").read_text())
    assert report["confusion"] == confusion.tolist() == [[2, 1], [1, 0]]
    assert report["classes"]["no"]["support"] == 3
    assert not list(tmp_path.glob("*.tmp*"))


def test_each_label_of_several_has_scores_of_its_own(tmp_path):
    """As scikit-learn's, also for a label that nobody has and one never predicted."""
    rng = np.random.default_rng(0)
    labels = (rng.random((30, 4)) < [0.5, 0.3, 0.0, 0.6]).astype(np.int32)
    logits = rng.normal(size=(30, 4)) - [0, 0, 0, 9]
    task, path = TextTask("t", "multi_label", tuple("abcd")), tmp_path / "c.json"
    confusion = results.write_class_scores(path, task, labels, logits)
    expected = sklearn.metrics.multilabel_confusion_matrix(labels, logits > 0)
    np.testing.assert_array_equal(confusion, expected)
    columns = sklearn.metrics.precision_recall_fscore_support(
        labels, logits > 0, average=None, zero_division=0
    )
    classes = json.loads(path.read_text())["classes"]
    names = ("precision", "recall", "f1", "support")
    for name, column in zip(names, columns, strict=True):
        found = [classes[label][name] for label in "abcd"]
        np.testing.assert_allclose(found, column)


def test_regression_is_written_as_a_number(tmp_path):
    task = TextTask("sts-b", "regression")
    results.write_submission(tmp_path / "s.tsv", task, _TABLE, _LOGITS[:, :1])
    assert (tmp_path / "s.tsv").read_text().splitlines()[1] == "0\t2.000"


def test_errors_of_single_texts_have_no_pair_column(tmp_path):
    task = TextTask("t", "multi_label", ("x", "y"))
    labels = np.array([[1, 0], [1, 1]])
    table = Table("t.tsv", ["a", "b"], None, labels, np.array([0, 5]))
    results.write_errors(tmp_path / "w.tsv", task, table, np.array([[1, -1], [1, -1]]))
    assert (tmp_path / "w.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\n5\tx|y\tx\tb\n"
    )


def test_errors_of_a_regression_start_with_the_largest(tmp_path):
    task = TextTask("sts-b", "regression")
    labels = np.array([1.0, 2.0, 3.0], np.float32)
    table = Table("t.tsv", ["a", "b", "c"], ["p", "q", "r"], labels, np.arange(3))
    logits = np.array([[1.1], [4.0], [2.5]])
    results.write_errors(tmp_path / "w.tsv", task, table, logits)
    assert (tmp_path / "w.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\t2.000\t4.000\tb\tq\n2\t3.000\t2.500\tc\tr\n0\t1.000\t1.100\ta\tp\n"
    )
