"""Held-out evaluation counts every row once and padding never."""

import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.evaluation import average
from albert_tf.errors import UserError


@pytest.mark.slow
def test_two_devices_equal_one(make_trainer, rows, two_replicas):
    """And neither counts the rows that fill the last batch."""
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    expected = make_trainer(1).evaluator.evaluate(dataset.batch(16))
    results = make_trainer(1, two_replicas).evaluator.evaluate(dataset.batch(5))
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=1e-5, err_msg=name)


def test_accuracies_equal_a_count(make_trainer, rows):
    trainer = make_trainer(1)
    outputs = trainer.model(rows)
    right = np.argmax(outputs["masked_lm_logits"], -1) == rows["masked_lm_ids"]
    masked = rows["masked_lm_weights"] > 0
    order = np.argmax(outputs["sentence_order_logits"], -1)
    dataset = tf.data.Dataset.from_tensor_slices(rows).batch(16)
    results = trainer.evaluator.evaluate(dataset)
    np.testing.assert_allclose(results["masked_lm_accuracy"], right[masked].mean())
    right = np.mean(order == rows["sentence_order_labels"])
    np.testing.assert_allclose(results["sentence_order_accuracy"], right)
    with pytest.raises(UserError, match="evaluation data set is empty"):
        trainer.evaluator.evaluate(dataset.take(0))


def test_a_term_is_divided_by_its_weight_and_epsilon():
    objective = types.SimpleNamespace(
        loss_terms=("a", "b"), epsilons={"a": 1.0}, scales={"b": 0.5}
    )
    names = ["a_loss", "b_loss", "a"]
    results = average(names, np.array([[6.0, 2.0], [6.0, 2.0], [6.0, 2.0]]), objective)
    assert results == {"loss": 3.5, "a_loss": 2.0, "b_loss": 3.0, "a": 3.0}
