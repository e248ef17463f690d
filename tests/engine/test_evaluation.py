"""Held-out evaluation counts every row once; the best model is kept, training ends."""

import json
import pathlib
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.evaluation import average
from albert_tf.engine.evaluation import evaluations_since_best
from albert_tf.engine.evaluation import out_of_patience
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


NAN = float("nan")


def entries(scores, losses):
    pairs = zip(scores, losses, strict=True)
    return [{"score": score, "loss": loss} for score, loss in pairs]


@pytest.mark.parametrize(
    ("scores", "losses", "expected"),
    [
        ([NAN], [NAN], 0),
        ([NAN, 0.1], [1.0, 1.0], 0),
        ([0.3, 0.1, NAN], [1.0, 1.0, 1.0], 2),
        ([0.5, 0.5, 0.5], [0.3, 0.2, 0.2], 1),
        ([0.5, 0.5], [0.2, NAN], 1),
        ([0.5, 0.5], [NAN, 0.3], 0),
        ([0.5, NAN], [0.3, 0.1], 1),
        ([0.4, 0.5], [0.1, 0.3], 0),
    ],
)
def test_of_equals_the_one_with_the_lower_loss_is_the_best(scores, losses, expected):
    assert evaluations_since_best(entries(scores, losses), "score") == expected


def test_patience(caplog):
    caplog.set_level("INFO", "absl")
    evaluations = entries([0.5, 0.1, 0.2], [0.3, 0.3, 0.3])
    assert not out_of_patience([], "score", 1)
    assert not out_of_patience(evaluations, None, 2)
    assert not out_of_patience(evaluations, "score", 0)
    assert not out_of_patience(evaluations[:2], "score", 2)
    assert out_of_patience(evaluations, "score", 2)
    assert "best of 3 evaluations, 0.5000, was 2 evaluations ago" in caplog.text
    # A lower loss of equal scores is worth waiting for.
    assert not out_of_patience(entries([0.5] * 3, [0.3, 0.2, 0.1]), "score", 2)
    # The lowest may be the best.
    scores = entries([0.5, 0.2, NAN, 0.3], [1.0] * 4)
    assert evaluations_since_best(scores, "score", lower_is_better=True) == 2
    assert out_of_patience(scores, "score", 2, lower_is_better=True)
    assert not out_of_patience(scores[:3], "score", 2, lower_is_better=True)


class Scripted:
    """An evaluator whose results are known before."""

    def __init__(self, results):
        self.results = iter(results)

    def evaluate(self, dataset):
        return next(self.results)


def test_every_better_model_is_saved_until_patience_ends(make_linear_trainer, batches):
    """The evaluation that ends training is in the history: the run has ended for ever.

    Of equal scores, the one with the lower loss is better.
    """
    results = entries([0.1, 0.3, 0.3, 0.2, 0.1], [1.0, 0.9, 0.8, 0.7, 0.7])
    saved = []

    def train(results):
        best = {
            "best_metric": "score",
            "patience": 2,
            "eval_at_start": False,
            "evaluator": Scripted(results),
            "eval_steps": 1,
        }
        trainer = make_linear_trainer(9, **best)
        trainer.train(batches(), "held out", lambda step, _: saved.append(step))
        return trainer

    trainer = train(results)
    assert (trainer.step, saved) == (5, [1, 2, 3])
    path = pathlib.Path(trainer.options.output_dir) / "history.json"
    history = json.loads(path.read_text())
    assert [{k: e[k] for k in ("score", "loss")} for e in history] == results
    assert train([]).step == 5
