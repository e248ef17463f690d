"""Scores and result files."""

import dataclasses
import json

import numpy as np
import pytest
import sklearn.metrics

from albert_tf.tasks.classification import text_task
from albert_tf.tasks.classification.text_task import write_errors
from albert_tf.tasks.examples import Table
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples

_TASK = create_task("single_label", "t", labels=("no", "yes"), pair=True)
_LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.5]])
_TABLE = Table(
    "t.tsv",
    ["a", "b\tc", "d", "e"],
    ["p", "q", "r", "s"],
    np.array([0, 0, 1, 0], np.int32),
    np.array([0, 1, 3, 4]),
)


def _prepared(table):
    return Prepared(table, TokenizedExamples(None, None, None, None, table.labels))


def test_score_has_the_metrics_the_loss_and_the_majority():
    scores = _TASK.score(_prepared(_TABLE), _LOGITS)
    assert scores["accuracy"] == 0.5
    assert scores["majority_accuracy"] == 0.75
    own = {"labels": ("0", "1"), "metrics": ("matthew_corr",)}
    task = create_task("single_label", "cola", **own)
    names = {"matthew_corr", *task.also_scored, "majority_accuracy"}
    assert set(task.score(_prepared(_TABLE), _LOGITS)) == names
    right = _TASK.probabilities(_LOGITS)[np.arange(4), _TABLE.labels]
    assert scores["loss"] == pytest.approx(-np.log(right).mean())


def test_result_files(tmp_path, monkeypatch):
    pictures = []
    monkeypatch.setattr(text_task, "write_plot", lambda path, *_: pictures.append(path))
    prepared = _prepared(dataclasses.replace(_TABLE, submission="named"))
    _TASK.write_predicted(tmp_path / "new", "", prepared, _LOGITS)
    lines = (tmp_path / "new" / "test_results.tsv").read_text().splitlines()
    assert lines[0] == "row\tno\tyes"
    assert [line.split("\t")[0] for line in lines[1:]] == ["0", "1", "3", "4"]
    first = list(map(float, lines[1].split("\t")[1:]))
    np.testing.assert_allclose(first, [0.880797, 0.119203], rtol=1e-5)
    for name in ("submit_results", "named"):
        assert (tmp_path / "new" / f"{name}.tsv").read_text() == (
            "index\tprediction\n0\tno\n1\tyes\n3\tno\n4\tno\n"
        )
    _TASK.write_scored(tmp_path, "dev", prepared, _LOGITS)
    assert (tmp_path / "dev_errors.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\tno\tyes\tb c\tq\n3\tyes\tno\td\tr\n"
    )
    report = json.loads((tmp_path / "dev_class_scores.json").read_text())
    assert report["confusion"] == [[2, 1], [1, 0]]
    assert report["classes"]["no"]["support"] == 3
    assert pictures == [tmp_path / "dev_confusion.png"]
    assert not list(tmp_path.glob("*.tmp*"))


def test_each_label_of_several_has_scores_of_its_own(tmp_path):
    """As scikit-learn's, also for a label that nobody has and one never predicted."""
    rng = np.random.default_rng(0)
    labels = (rng.random((30, 4)) < [0.5, 0.3, 0.0, 0.6]).astype(np.int32)
    logits = rng.normal(size=(30, 4)) - [0, 0, 0, 9]
    task = create_task("multi_label", "t", labels=tuple("abcd"))
    table = Table("t.tsv", ["a"] * 30, None, labels, np.arange(30))
    task.write_scored(tmp_path, "dev", _prepared(table), logits)
    errors = (tmp_path / "dev_errors.tsv").read_text()
    assert errors.startswith("row\tlabel\tprediction\ttext\n")  # and no pair
    assert "\ta|b\t" in errors
    report = json.loads((tmp_path / "dev_class_scores.json").read_text())
    expected = sklearn.metrics.multilabel_confusion_matrix(labels, logits > 0)
    np.testing.assert_array_equal(report["confusion"], expected)
    columns = sklearn.metrics.precision_recall_fscore_support(
        labels, logits > 0, average=None, zero_division=0
    )
    names = ("precision", "recall", "f1", "support")
    for name, column in zip(names, columns, strict=True):
        found = [report["classes"][label][name] for label in "abcd"]
        np.testing.assert_allclose(found, column)


def test_regression_is_written_as_a_number(tmp_path):
    task = create_task("regression", "sts-b")
    task.write_predicted(tmp_path, "", _prepared(_TABLE), _LOGITS[:, :1])
    lines = (tmp_path / "submit_results.tsv").read_text().splitlines()
    assert lines[1] == "0\t2.000"
    lines = (tmp_path / "test_results.tsv").read_text().splitlines()
    assert lines[:2] == ["row\tscore", "0\t2.0"]
    # The largest errors come first.
    labels = np.array([1.0, 2.0, 3.0], np.float32)
    table = Table("t.tsv", ["a", "b", "c"], ["p", "q", "r"], labels, np.arange(3))
    write_errors(tmp_path / "w.tsv", task, table, np.array([1.1, 4.0, 2.5]))
    assert (tmp_path / "w.tsv").read_text() == (
        "row\tlabel\tprediction\ttext\ttext_pair\n"
        "1\t2.000\t4.000\tb\tq\n2\t3.000\t2.500\tc\tr\n0\t1.000\t1.100\ta\tp\n"
    )
