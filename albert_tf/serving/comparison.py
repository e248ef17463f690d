"""What a conversion costs in quality, on a labelled file."""

import numpy as np

from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.metrics import METRICS
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION
from albert_tf.tasks.tokenized_examples import tokenize_texts

_BATCH_SIZE = 32


def read_examples(path, columns, task, tokenizer, max_seq_length):
    """The `TokenizedExamples` of a labelled file.

    Raises:
        UserError: as `read_table`.
    """
    table = read_table(path, columns, task.parse_label)
    return tokenize_texts(
        table.texts, table.text_pairs, tokenizer, max_seq_length, table.labels
    )


def compare(examples, task, max_seq_length, models):
    """The task's metrics of several ways to compute one model.

    Args:
        examples: labelled `TokenizedExamples`.
        task: the `TextTask`.
        max_seq_length: the longest length.
        models: functions from a dict of features to a dict with `probabilities`, or
            `score` for regression, by name.

    Returns:
        Dict by metric of dicts by name of the model.
    """
    order = np.argsort(examples.lengths, kind="stable")
    examples = examples.take(order)
    found = {name: [] for name in models}
    for batch in evaluation_dataset(examples, _BATCH_SIZE, max_seq_length):
        features = {name: batch[name] for name in FEATURES}
        for name, model in models.items():
            found[name].append(_as_logits(task, model(features)))
    predictions = {
        name: task.predictions(np.concatenate(parts)) for name, parts in found.items()
    }
    return {
        metric: {
            name: float(METRICS[metric](examples.labels, values))
            for name, values in predictions.items()
        }
        for metric in task.metrics
    }


def _as_logits(task, numbers):
    """Something that `TextTask.predictions` decides as it would the logits."""
    if task.kind == REGRESSION:
        return np.asarray(numbers["score"])[:, None]  # [B] -> [B, 1]
    probabilities = np.asarray(numbers["probabilities"])
    return probabilities - 0.5 if task.kind == MULTI_LABEL else probabilities
