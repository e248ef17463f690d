"""A model's outputs for many examples, batched by length."""

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io.processes import check_process
from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.early_exit.scores import all_layers
from albert_tf.tasks.early_exit.scores import depths


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
    `[rows, layers, ...]`, which `early_exit.depths` takes.
    """

    def __init__(self, model, batch_size, max_seq_length, min_tokens=1):
        self.model = model
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.buckets = tuple(size for size in FINE_BUCKETS if size >= min_tokens)
        self._graphs = {}  # by the axes of features

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
        order = np.argsort(examples.sizes, kind="stable")
        by_length = evaluation_dataset(
            examples.take(order),
            self.batch_size,
            self.max_seq_length,
            buckets=self.buckets,
        )
        parts, outputs_of = [], self._graph(examples.lengths.ndim + 1)
        for batch in by_length:
            outputs = outputs_of({name: batch[name] for name in FEATURES})
            parts.append(tf.nest.map_structure(lambda value: value.numpy(), outputs))
        back = np.argsort(order)
        return tf.nest.map_structure(lambda *arrays: joined(arrays)[back], *parts)


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


def joined(arrays):
    """Joins `[batch, …]` arrays; where later sizes differ, pads with 0 (or b"")."""
    _, *sizes = np.max([array.shape for array in arrays], axis=0)
    return np.concatenate([_padded(array, sizes) for array in arrays])


def _padded(array, sizes):
    width = [(0, to - size) for to, size in zip(sizes, array.shape[1:], strict=True)]
    if not any(to for _, to in width):
        return array
    filling = b"" if array.dtype == object else 0
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
