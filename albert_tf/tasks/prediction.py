"""A model's outputs for many examples, batched by length; and where rows leave early.

Answers of rows that leave early are scored beside those at full depth.
"""

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
    """Outputs of a model in the order of the examples.

    Args:
        model: a `PretrainedModel` of `FEATURES`, or a function of them, `[batch,
            tokens]` each, and `training`.
        batch_size: rows of a batch; rows of similar length meet.
        max_seq_length: the longest length.
        min_tokens: the shortest length to which a batch is padded.

    Call: `TokenizedExamples`, labelled or not. Returns an array `[rows, ...]`, or a
    dict of such for a model that returns a dict; where an output is as long as its
    batch, the shorter ones are padded with zeros. Of a model with exit heads, it is
    `[rows, layers, ...]`, which `depths` takes.
    """

    def __init__(self, model, batch_size, max_seq_length, min_tokens=1):
        self.model = model
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.min_tokens = min_tokens
        self._graphs = {}  # by the axes of features

    def __getstate__(self):
        return {**vars(self), "_graphs": {}}  # functions cannot be pickled

    def _graph(self, axes):
        # Shapes are left open: one graph serves every bucket and the last short batch.
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
    """Makes batches of rows of similar length; arguments as of `OutputsPredictor`.

    Returns:
        The data set, and int `[rows]`, which of the examples its rows are.
    """
    order = np.argsort(examples.sizes, kind="stable")
    buckets = tuple(size for size in FINE_BUCKETS if size >= min_tokens)
    rows = examples.take(order)
    return evaluation_dataset(rows, batch_size, max_seq_length, buckets=buckets), order


def require_numbers(outputs):
    """Refuses outputs of a model that hold NaN, of which each class is as probable.

    Args:
        outputs: an array, or a dict of such, `[inputs, …]` each.

    Returns:
        The outputs.

    Raises:
        UserError: it names the first input.
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
    """Joins `[batch, …]` arrays; where later sizes differ, pads with 0 or the text."""
    _, *sizes = np.max([array.shape for array in arrays], axis=0)
    return np.concatenate([_padded(array, sizes, text) for array in arrays])


def _padded(array, sizes, text):
    width = [(0, to - size) for to, size in zip(sizes, array.shape[1:], strict=True)]
    if not any(to for _, to in width):
        return array
    filling = text if array.dtype == object else 0
    return np.pad(array, [(0, 0), *width], constant_values=filling)


class DevEvaluator:
    """Scores a model on dev sets with the task's own metrics.

    It takes the place of the engine's evaluator, whose averages cannot express F1 or a
    correlation.

    Args:
        task: the `Task`.
        outputs: an `OutputsPredictor` of the model in training.
    """

    def __init__(self, task, outputs):
        self.task = task
        self.outputs = outputs

    def evaluate(self, dev_sets):
        """Scores every dev set: `{metric: value}`, with a prefix from the second on.

        Args:
            dev_sets: labelled `Prepared` examples by name, the deciding one first.
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
    """Returns the arguments of a call for the logits of all exit heads, if any."""
    return {"all_layers": True} if getattr(model, "exit_heads", None) else {}


def depths(task, prepared, outputs, model):
    """Returns the outputs at full depth, and scores of the early ones.

    Args:
        task: the `Task`.
        prepared: the `Prepared` examples.
        outputs: of `OutputsPredictor`; with exit heads `[rows, layers, outputs]`.
        model: the model that they are of.

    Returns:
        `[rows, outputs]`; and a dict: `exit_<metric>`, as the model's rule lets rows
        leave, and `exit_layer`, the mean of the layers taken. It is empty without a
        rule or labels.
    """
    if not all_layers(model):
        return outputs, {}
    full = outputs[:, -1]
    if model.exit_rule is None or prepared.tokens.labels is None:
        return full, {}
    return full, early_scores(task, prepared, outputs, model.exit_rule, model.exit_kind)


def early_scores(task, prepared, outputs, rule, kind):
    """Computes `task.metrics` where rows leave by a rule; arguments as of `depths`.

    Args:
        rule: an `ExitRule`.
        kind: as of `exits.leaving`.
    """
    layers = exit_layers(outputs, rule, kind)
    early = outputs[np.arange(len(outputs)), layers - 1]
    scores = task.score(prepared, task.interpret(prepared, early))
    named = {f"exit_{metric}": scores[metric] for metric in task.metrics}
    return {**named, "exit_layer": float(layers.mean())}


def exit_layers(outputs, rule, kind):
    """Computes after how many layers each row leaves.

    Args:
        outputs: float32 `[rows, layers, outputs]`.
        rule: an `ExitRule`.
        kind: as of `exits.leaving`.

    Returns:
        int64 `[rows]`, from 1.
    """
    state, found = first_state(outputs[:, 0], kind), []
    for layer in range(outputs.shape[1]):
        leaves, state = leaving(outputs[:, layer], state, rule, kind)
        found.append(np.array(leaves))
    found[-1][:] = True
    return np.argmax(found, axis=0) + 1
