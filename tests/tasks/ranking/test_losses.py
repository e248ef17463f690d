"""The losses and the metrics of ranking."""

import numpy as np
import pytest
import sklearn.metrics
import tensorflow as tf

from albert_tf.tasks.ranking import metrics
from albert_tf.tasks.ranking.lists import NO_GRADE
from albert_tf.tasks.ranking.task import Ranking

_SCORES = np.float32([[0.3, -1.2, 2.0, 9.0], [0.5, 0.1, 9.0, 9.0]])
_GRADES = np.float32([[2, 0, 1, NO_GRADE], [0, 0, NO_GRADE, NO_GRADE]])


def _loss(name, scores=_SCORES, grades=_GRADES):
    task = Ranking(name="ranking", loss=name)
    # A batch may have fewer texts than the longest list of all.
    grades = np.pad(grades, [(0, 0), (0, 2)], constant_values=NO_GRADE)
    return np.array(task.losses(tf.constant(scores)[..., None], tf.constant(grades)))


def _better(grades):
    real = [i for i, grade in enumerate(grades) if grade > NO_GRADE]
    return [(i, j) for i in real for j in real if grades[i] > grades[j]]


def _padded(rows, missing=NO_GRADE):
    most = max(map(len, rows))
    rows = [[*row, *[missing] * (most - len(row))] for row in rows]
    return np.float32(rows)


def test_margin():
    scores = _SCORES[0]
    losses = [max(0, 1 - scores[i] + scores[j]) for i, j in _better(_GRADES[0])]
    np.testing.assert_allclose(_loss("margin"), [np.mean(losses), 0], atol=1e-6)


def test_losses_of_each_list_are_those_of_sentence_transformers(cross_encoder):
    _, expected = cross_encoder
    scores, grades = _padded(expected["logits"], 9.0), _padded(expected["grades"])
    for name in ("lambda", "binary"):
        wanted = np.array(expected["losses"][name])
        if name == "lambda":  # theirs is the mean over pairs of different grades
            wanted *= [len(_better(own)) for own in expected["grades"]]
        np.testing.assert_allclose(_loss(name, scores, grades), wanted, rtol=1e-5)
    np.testing.assert_allclose(_loss("lambda"), [_loss("lambda")[0], 0])
    # Of two texts, MarginMSE is the square of the difference, 4 times that of each.
    teacher = tf.constant([expected["teacher"]] * len(scores))
    task = Ranking(name="ranking")
    found = task.distances(tf.constant(scores[:, :2, None]), teacher, 1.0)
    wanted = expected["losses"]["margin_mse"]
    assert 4 * np.mean(found) == pytest.approx(wanted, rel=1e-5)


def test_metrics_are_those_of_sentence_transformers(cross_encoder):
    _, expected = cross_encoder
    grades = np.minimum(_padded(expected["grades"]), 1)
    found = metrics.ranking_metrics(grades, _padded(expected["logits"], 9.0))
    wanted = [expected["metrics"][name] for name in ("ndcg@10", "mrr@10", "map")]
    np.testing.assert_allclose([*found.values()], wanted, rtol=1e-6)


def test_a_teacher_is_followed_but_for_its_mean():
    task = Ranking(name="ranking")
    scores = tf.constant(_SCORES)[..., None]
    teacher = np.where(_GRADES > NO_GRADE, _SCORES + 5, -1e9).astype(np.float32)
    same = task.distances(scores, tf.constant(teacher), 1.0)
    np.testing.assert_allclose(same, 0, atol=1e-6)
    teacher[0, 0] += 3  # differences from the mean: 2, -1, -1
    other = task.distances(scores, tf.constant(teacher), 1.0)
    np.testing.assert_allclose(other, [2, 0], atol=1e-5)


def test_metrics():
    scores = np.array([[0.2, 0.9, 0.5, 0], [0.1, 0.2, 0, 0], [0.4, 0.3, 0, 0]])
    none, rest = NO_GRADE, [NO_GRADE] * 2
    grades = np.array([[3, 0, 1, none], [1, 0, *rest], [0, 0, *rest]])
    found = metrics.ranking_metrics(grades, scores)
    first = (1 / np.log2(3) + 7 / 2) / (7 + 1 / np.log2(3))
    assert found["ndcg_at_10"] == pytest.approx(np.mean([first, 1 / np.log2(3)]))
    assert found["mrr_at_10"] == pytest.approx(np.mean([1 / 2, 1 / 2]))
    assert found["map"] == pytest.approx(np.mean([(1 / 2 + 2 / 3) / 2, 1 / 2]))


def test_ndcg_equals_scikit_learn():
    gains = np.random.default_rng(0).integers(0, 3, (6, 12))
    gains[:, 9] = 2
    places = -np.arange(12.0) + np.zeros((6, 1))  # in this order
    found = metrics.ndcg_and_mrr(gains, -np.sort(-gains, axis=1))
    wanted = sklearn.metrics.ndcg_score(gains, places, k=10)
    assert found["ndcg_at_10"] == pytest.approx(wanted)
    assert found["mrr_at_10"] == np.mean(1 / (np.argmax(gains > 0, axis=1) + 1))
