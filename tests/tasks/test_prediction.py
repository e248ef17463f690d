"""Outputs of many rows, in the rows' order."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tasks import prediction
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from tests.tasks.conftest import numbered_rows


def _first_and_all(features, training):
    ids = tf.cast(features["input_ids"], tf.float32)
    return {
        "first": ids[:, 0],
        "tokens": ids * tf.cast(features["input_mask"], "float"),
    }


def test_rows_keep_their_order_whatever_their_length():
    lengths = [9, 2, 20, 2, 5]
    found = prediction.OutputsPredictor(_first_and_all, 2, 24)(numbered_rows(lengths))
    assert found["first"].tolist() == [0, 1, 2, 3, 4]
    assert found["tokens"].sum(axis=1).tolist() == [0, 2, 40, 6, 20]


def test_shorter_batches_are_padded():
    found = prediction.joined([np.ones((1, 2)), np.full((2, 3), 5)])
    assert found.tolist() == [[1, 1, 0], [5, 5, 5], [5, 5, 5]]


def test_of_several_dev_sets_the_first_has_the_plain_names():
    task = create_task("regression", "t", metrics=("MSE",))
    sets = {
        name: Prepared(None, numbered_rows([3, 4], np.float32([0, shift])))
        for name, shift in (("dev", 1), ("other", 3))
    }

    def first(features, training):
        return _first_and_all(features, training)["first"][:, None]

    scores = prediction.DevEvaluator(
        task, prediction.OutputsPredictor(first, 2, 8)
    ).evaluate(sets)
    assert scores == {"MSE": 0, "loss": 0, "other_MSE": 2, "other_loss": 2}


def test_nan_is_no_answer():
    numbers = {"a": np.zeros(3), "b": np.array([[0, 1], [0, np.nan], [np.nan, 0]])}
    with pytest.raises(UserError, match="answers NaN to input 2: its weights"):
        prediction.require_numbers(numbers)
    del numbers["b"]
    assert prediction.require_numbers(numbers) is numbers
