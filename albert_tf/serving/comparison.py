"""What a conversion costs in quality, on a labelled file."""

import dataclasses

import numpy as np

from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.source import Split
from albert_tf.tasks.task import Prepared

_BATCH_SIZE = 32


def read_examples(path, columns, task, tokenizer, max_seq_length):
    """The `Prepared` split of a labelled file, shortest rows first.

    Raises:
        UserError: as `Task.read`.
    """
    examples = task.read(Split(path, columns))
    tokens = task.tokenize(examples, tokenizer, max_seq_length)
    tokens = dataclasses.replace(tokens, labels=task.targets(examples, tokens))
    order = np.argsort(tokens.lengths, kind="stable")
    return Prepared(examples, tokens.take(order))


def compare(prepared, task, max_seq_length, models):
    """The task's metrics of several ways to compute one model.

    Args:
        prepared: a labelled `Prepared` split.
        task: its `Task`.
        max_seq_length: the longest length.
        models: functions from a dict of features to what `Task.served_numbers` gives,
            by name.

    Returns:
        Dict by metric of dicts by name of the model.
    """
    found = {name: [] for name in models}
    for batch in evaluation_dataset(prepared.tokens, _BATCH_SIZE, max_seq_length):
        features = {name: batch[name] for name in FEATURES}
        for name, model in models.items():
            found[name].append(task.outputs_from_served(model(features)))
    scores = {
        name: task.score(prepared, task.interpret(prepared, np.concatenate(parts)))
        for name, parts in found.items()
    }
    return {
        metric: {name: float(values[metric]) for name, values in scores.items()}
        for metric in task.metrics
    }
