"""Logits of many examples, batched by length."""

import numpy as np
import tensorflow as tf

from albert_tf.tasks.datasets import evaluation_dataset
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION


def predict_logits(model, examples, batch_size, max_seq_length):
    """Logits, float32 `[N, num_outputs]`, in the order of `examples`.

    Args:
        model: an `AlbertForSequenceClassification`.
        examples: `TokenizedExamples`, labelled or not.
        batch_size: rows of a batch; rows of similar length meet.
        max_seq_length: the longest length.
    """
    order = np.argsort(examples.lengths, kind="stable")
    by_length = evaluation_dataset(examples.take(order), batch_size, max_seq_length)
    # Shapes are left open: one graph serves every bucket and the last short batch.
    logits = tf.function(
        lambda features: model(features, training=False), reduce_retracing=True
    )
    parts = []
    for batch in by_length:
        batch.pop("labels", None)
        parts.append(logits(batch).numpy())
    return np.concatenate(parts)[np.argsort(order)]


def probabilities(task, logits):
    """What result files show of `[N, num_outputs]` logits: probabilities or values."""
    if task.kind == REGRESSION:
        return logits
    if task.kind == MULTI_LABEL:
        return 1.0 / (1.0 + np.exp(-logits))
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
