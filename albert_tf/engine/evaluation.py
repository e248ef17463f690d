"""Held-out evaluation, which counts every row once and no padding."""

import functools
import math

import tensorflow as tf
from absl import logging

from albert_tf.engine.device_loop import CarriedState
from albert_tf.engine.strategies import replica_rows
from albert_tf.engine.strategies import sum_over_replicas
from albert_tf.errors import UserError
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.objectives.base import reported_sums


class Evaluator:
    """Averages an objective's losses and metrics over a data set.

    Args:
        model: the Keras model.
        objective: an `Objective`.
        strategy: the `tf.distribute.Strategy` whose replicas share each batch.
        use_xla: whether to compile the forward pass with XLA.
    """

    def __init__(self, model, objective, strategy, use_xla):
        self.model = model
        self.objective = objective
        self.strategy = strategy
        self._compiled_sums = tf.function(
            self._sums, jit_compile=use_xla or None, autograph=False
        )
        self._step = tf.function(self._distributed_step, autograph=False)
        # Cached by batch size, so that a second evaluation compiles nothing.
        self._carried = functools.cache(
            functools.partial(CarriedState, objective, model, strategy)
        )

    def evaluate(self, dataset):
        """Returns `{name: float}`; `loss` is the sum of the loss terms.

        Args:
            dataset: batches of equal size, except that the last may be shorter.

        Raises:
            UserError: the data set is empty.
        """
        names = [f"{term}_loss" for term in self.objective.loss_terms]
        names += self.objective.metric_names
        totals, batch_size = 0.0, None
        for batch in dataset:
            batch_size = batch_size or self._padded_size(batch)
            batch = pad_rows(batch, batch_size)
            totals = totals + self._step(batch, self._carried(batch_size)).numpy()
        if batch_size is None:
            raise UserError(
                "The evaluation data set is empty; expected at least one row."
            )
        results = average(names, totals, self.objective)
        return {**results, **self.objective.derived(results)}

    def _padded_size(self, batch):
        replicas = self.strategy.num_replicas_in_sync
        rows = int(next(iter(batch.values())).shape[0])
        return math.ceil(rows / replicas) * replicas

    def _distributed_step(self, batch, carried):
        sums = carried.run(self._replica_sums, replica_rows(self.strategy, batch))
        return self.strategy.experimental_local_results(sums)[0]

    def _replica_sums(self, rows, carried=None):
        if carried:
            rows = {**rows, **self.objective.resumed(carried, rows)}
        sums, after = self._compiled_sums(rows)
        sums = sum_over_replicas(sums)
        return (sums, after) if carried else sums

    def _sums(self, batch):
        losses, metrics, carried = self.objective.call_carrying(
            self.model, batch, training=False, dropout_seed=None
        )
        denominators = self.objective.denominators(batch)
        sums = reported_sums(self.objective, losses, metrics, denominators)
        return sums, carried


def pad_rows(batch, size):
    """Pads a batch to `size` rows of zeros and adds `EXAMPLE_WEIGHTS`."""
    rows = tf.shape(next(iter(batch.values())))[0]
    batch = {**batch, EXAMPLE_WEIGHTS: tf.ones([rows])}
    padded = {}
    for name, value in batch.items():
        paddings = [[0, size - rows], *([[0, 0]] * (value.shape.rank - 1))]
        value = tf.pad(value, paddings)
        padded[name] = tf.ensure_shape(value, [size, *value.shape[1:]])
    return padded


def average(names, totals, objective):
    """Divides sums by weights, `[metrics, 2]`, and adds `loss`."""
    results = {}
    for name, (total, weight) in zip(names, totals.tolist(), strict=True):
        term = name.removesuffix("_loss")
        weight += objective.epsilons.get(term, 0.0) if name != term else 0.0
        results[name] = total / weight if weight else 0.0
    terms = [
        objective.scales.get(term, 1.0) * results[f"{term}_loss"]
        for term in objective.loss_terms
    ]
    return {"loss": sum(terms), **results}


def evaluations_since_best(evaluations, metric, lower_is_better=False):
    """Counts the evaluations after the best; 0 if the last is the best so far.

    Args:
        evaluations: dicts of results, the earliest first.
        metric: name of the result that ranks them: the highest is best, NaN is worst;
            on a tie, the lower `loss` is better, then the earlier evaluation.
        lower_is_better: whether the lowest is best instead.
    """
    sign = -1 if lower_is_better else 1
    ranks = [
        (_or_worst(sign * results[metric]), _or_worst(-results.get("loss", 0.0)))
        for results in evaluations
    ]
    return len(ranks) - 1 - ranks.index(max(ranks))


def _or_worst(value):
    return -math.inf if math.isnan(value) else value


def out_of_patience(evaluations, metric, patience, lower_is_better=False):
    """Returns whether the best evaluation is `patience` ago; 0 means never."""
    if not (evaluations and metric and patience):
        return False
    since = evaluations_since_best(evaluations, metric, lower_is_better)
    if since < patience:
        return False
    logging.info(
        "Stopping early: the best of %d evaluations, %.4f, was %d evaluations ago.",
        len(evaluations),
        evaluations[-1 - since][metric],
        since,
    )
    return True
