"""Computes a model's outputs and scores on many examples, also with early exit."""

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io.processes import check_process
from albert_tf.layers.exits import first_state
from albert_tf.layers.exits import leaving
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import evaluation_dataset


class OutputsPredictor:
    """Computes a model's outputs in batches of similar length.

    Args:
        model: a `PretrainedModel` that takes `FEATURES`, or a function of features
            `[batch, tokens]` and `training`.
        batch_size: rows per batch.
        max_seq_length: maximum number of tokens in a row.
        min_tokens: the minimum padded length of a batch.

    Call: `TokenizedExamples`, labelled or not. Returns an array `[rows, ...]` in the
    order of the examples, or a dict of arrays if the model returns a dict. Outputs
    along the tokens are padded with zeros to the longest. A model with exit heads
    returns `[rows, layers, ...]`, the input of `depths`.
    """

    def __init__(self, model, batch_size, max_seq_length, min_tokens=1):
        self.model = model
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.min_tokens = min_tokens
        self._graphs = {}  # by the number of axes of features

    def __getstate__(self):
        return {**vars(self), "_graphs": {}}  # functions cannot be pickled

    def _graph(self, axes):
        # Dynamic shapes: one graph serves every bucket and the short last batch.
        if axes not in self._graphs:
            spec = tf.TensorSpec([None] * axes, tf.int32)
            self._graphs[axes] = tf.function(
                lambda f: self.model(f, training=False, **all_layers(self.model)),
                input_signature=[dict.fromkeys(FEATURES, spec)],
                autograph=False,
            )
        return self._graphs[axes]

    def __call__(self, examples):
        check_process()
        batches, order = by_length(
            examples, self.batch_size, self.max_seq_length, self.min_tokens
        )
        parts, outputs_of = [], self._graph(examples.lengths.ndim + 1)
        for batch in batches:
            outputs = outputs_of({name: batch[name] for name in FEATURES})
            parts.append(tf.nest.map_structure(lambda value: value.numpy(), outputs))
        back = np.argsort(order)
        return tf.nest.map_structure(lambda *arrays: joined(arrays)[back], *parts)


def by_length(examples, batch_size, max_seq_length, min_tokens=1):
    """Batches rows of similar length; see `OutputsPredictor` for the arguments.

    Returns:
        The dataset, and int `[rows]`, the example index of each of its rows.
    """
    order = np.argsort(examples.sizes, kind="stable")
    buckets = tuple(size for size in FINE_BUCKETS if size >= min_tokens)
    rows = examples.take(order)
    return evaluation_dataset(rows, batch_size, max_seq_length, buckets=buckets), order


def require_numbers(outputs):
    """Returns a model's outputs, an array or a dict of arrays, if they have no NaN.

    Raises:
        UserError: there is NaN, which would make all classes equally probable; the
            message has the first input with NaN.
    """
    for values in tf.nest.flatten(outputs):
        bad = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape)
        if bad.any():
            number = int(np.argwhere(bad)[0][0]) + 1
            raise UserError(
                f"The model answers NaN to input {number}: its weights, or its numbers "
                "in a smaller type than float32, are not finite; train or export it "
                "again."
            )
    return outputs


def joined(arrays, text=b""):
    """Joins `[batch, …]` arrays; if other sizes differ, pads with 0 or `text`."""
    _, *sizes = np.max([array.shape for array in arrays], axis=0)
    return np.concatenate([_padded(array, sizes, text) for array in arrays])


def _padded(array, sizes, text):
    width = [(0, to - size) for to, size in zip(sizes, array.shape[1:], strict=True)]
    filling = text if array.dtype == object else 0
    return np.pad(array, [(0, 0), *width], constant_values=filling)


class DevEvaluator:
    """Scores a model on dev sets with the task's own metrics.

    This replaces the engine's evaluator, whose averages cannot express F1 or
    correlations.

    Args:
        task: the `Task`.
        outputs: an `OutputsPredictor` of the model in training.
    """

    def __init__(self, task, outputs):
        self.task = task
        self.outputs = outputs

    def evaluate(self, dev_sets):
        """Scores labelled `Prepared` examples by name; the first ones decide.

        Returns:
            `{metric: value}`; from the second set on, metrics have the set's name as
            prefix.
        """
        scores = {}
        for place, (name, prepared) in enumerate(dev_sets.items()):
            prefix = f"{name}_" if place else ""
            outputs = self.outputs(prepared.tokens)
            full, early = depths(self.task, prepared, outputs, self.outputs.model)
            interpreted = self.task.interpret(prepared, full)
            found = {**self.task.score(prepared, interpreted), **early}
            scores |= {prefix + metric: value for metric, value in found.items()}
        return scores


def all_layers(model):
    """Returns the call arguments that request the logits of all exit heads."""
    return {"all_layers": True} if getattr(model, "exit_heads", None) else {}


def depths(task, prepared, outputs, model):
    """Splits outputs into those at full depth and the scores of early exits.

    Args:
        task: the `Task`.
        prepared: the `Prepared` examples.
        outputs: the result of `OutputsPredictor`.
        model: its model; with exit heads, outputs are `[rows, layers, outputs]`.

    Returns:
        `[rows, outputs]`, and a dict: `exit_<metric>` for rows that exit by the model's
        rule, and `exit_layer`, the mean number of layers; {} without a rule or labels.
    """
    if not all_layers(model):
        return outputs, {}
    full = outputs[:, -1]
    if model.exit_rule is None or prepared.tokens.labels is None:
        return full, {}
    return full, early_scores(task, prepared, outputs, model.exit_rule, model.exit_kind)


def early_scores(task, prepared, outputs, rule, kind):
    """Computes the scores of `depths` for rows that exit by an `ExitRule`.

    Args:
        task, prepared, outputs: see `depths`.
        rule, kind: see `exit_layers`.
    """
    layers = exit_layers(outputs, rule, kind)
    early = outputs[np.arange(len(outputs)), layers - 1]
    scores = task.score(prepared, task.interpret(prepared, early))
    named = {f"exit_{metric}": scores[metric] for metric in task.metrics}
    return {**named, "exit_layer": float(layers.mean())}


def exit_layers(outputs, rule, kind):
    """Computes the number of layers after which each row exits, int64 `[rows]`.

    Args:
        outputs: float32 `[rows, layers, outputs]`.
        rule: an `ExitRule`.
        kind: the meaning of the outputs; see `exits.leaving`.
    """
    state, found = first_state(outputs[:, 0], kind), []
    for layer in range(outputs.shape[1]):
        leaves, state = leaving(outputs[:, layer], state, rule, kind)
        found.append(np.array(leaves))
    found[-1][:] = True
    return np.argmax(found, axis=0) + 1
