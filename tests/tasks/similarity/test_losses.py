"""Losses of vectors: against loops of their formulas, and PyTorch's gradients."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tasks.similarity import task as objective
from albert_tf.tasks.similarity.task import Similarity

_VECTORS = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
_DISTINCT = np.arange(12).reshape(4, 3)
# Rows 0 and 1 have one anchor; row 2 has row 0's positive; row 3's positive is its
# anchor, and its negative the positive of row 2.
_EQUAL = np.array([[0, 1, 2], [0, 3, 4], [5, 1, 6], [7, 7, 1]])
_SCORES = np.array([0.9, 0.1, 0.5, 0.5], np.float32)
_TEMPERATURE = 0.5  # by which every negative is felt


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def info_nce_by_loops(texts, symmetric=False):
    """The mean loss, and the negatives that each anchor has."""
    rows, found, negatives = len(texts), [], []
    for i in range(rows):
        positive = cosine(_VECTORS[i, 0], _VECTORS[i, 1]) / _TEMPERATURE
        exponents, own = [np.exp(positive)], []
        for column in range(1, texts.shape[1]):
            for j in range(rows):
                if (j, column) == (i, 1) or texts[j, column] in texts[i, :2]:
                    continue
                if column == 1 and texts[j, 0] == texts[i, 0]:
                    continue
                other = cosine(_VECTORS[i, 0], _VECTORS[j, column]) / _TEMPERATURE
                exponents.append(np.exp(other))
                own.append((j, column))
        loss = np.log(sum(exponents)) - positive
        if symmetric:
            back = [np.exp(positive)]
            for j, column in own:
                if column == 1:
                    other = cosine(_VECTORS[j, 0], _VECTORS[i, 1]) / _TEMPERATURE
                    back.append(np.exp(other))
            loss = (loss + np.log(sum(back)) - positive) / 2
        found.append(loss)
        negatives.append(own)
    return np.array(found), negatives


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("texts", [_DISTINCT, _DISTINCT[:, :2], _EQUAL])
def test_info_nce(texts, symmetric):
    expected, _ = info_nce_by_loops(texts, symmetric)
    vectors = _VECTORS[:, : texts.shape[1]]
    found, hits = objective.info_nce(vectors, texts, _TEMPERATURE, symmetric)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for i, hit in enumerate(hits):
        own = cosine(vectors[i, 0], vectors[i, 1])
        others = [
            cosine(vectors[i, 0], vectors[place])
            for place in info_nce_by_loops(texts)[1][i]
        ]
        assert hit == all(own > other for other in others)


def test_equal_texts_are_no_negatives():
    _, negatives = info_nce_by_loops(_EQUAL)
    assert [len(own) for own in negatives] == [4, 6, 5, 7]


def test_cosent():
    cosines = [cosine(first, second) for first, second in _VECTORS[:, :2]]
    total = 1.0
    for i in range(4):
        for j in range(4):
            if _SCORES[i] < _SCORES[j]:
                total += np.exp((cosines[i] - cosines[j]) / _TEMPERATURE)
    found = objective.cosent(_VECTORS[:, :2], _SCORES, _TEMPERATURE)
    np.testing.assert_allclose(found, [np.log(total)] * 4, rtol=1e-5)


def test_cosine():
    cosines = [cosine(first, second) for first, second in _VECTORS[:, :2]]
    found = objective.cosine(_VECTORS[:, :2], _SCORES)
    np.testing.assert_allclose(found, (cosines - _SCORES) ** 2, rtol=1e-5)


def test_losses_of_dimensions_are_added_up():
    """The whole vector says what is right: it comes first here."""
    vectors, texts = tf.constant(_VECTORS[:, :2]), tf.constant(_DISTINCT[:, :2])
    task = Similarity(name="t", dimensions=(5, 2))
    found, hits = task.losses(vectors, texts), task.right(vectors, texts)
    whole, part = (objective.info_nce(vectors[..., :n], texts, 0.05) for n in (5, 2))
    np.testing.assert_allclose(found, whole[0] + part[0], rtol=1e-6)
    np.testing.assert_array_equal(hits, whole[1])
    assert (whole[1].numpy() != part[1].numpy()).any()


def test_what_a_model_cannot_learn_is_refused(tiny_config):
    Similarity(name="t", loss="simcse").check_model(
        tiny_config(hidden_dropout_prob=0.1)
    )
    with pytest.raises(UserError, match="loss=simcse compares two vectors .* none"):
        Similarity(name="t", loss="simcse").check_model(tiny_config())
    Similarity(name="t", dimensions=(4, 12)).check_model(tiny_config())
    with pytest.raises(UserError, match="dimensions=13: the model's vectors have 12"):
        Similarity(name="t", dimensions=(4, 13)).check_model(tiny_config())
    with pytest.raises(ValueError, match="dimensions is .* expected integers"):
        Similarity(name="t", dimensions=(4, 0))
