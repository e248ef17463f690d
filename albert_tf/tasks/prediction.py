"""Logits of many examples, batched by length."""

import numpy as np
import tensorflow as tf

from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION


class LogitsPredictor:
    """Logits of a classifier, float32 `[N, num_outputs]`, in the order of the examples.

    Args:
        model: an `AlbertForSequenceClassification`.
        batch_size: rows of a batch; rows of similar length meet.
        max_seq_length: the longest length.

    Call: `TokenizedExamples`, labelled or not.
    """

    def __init__(self, model, batch_size, max_seq_length):
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        # Shapes are left open: one graph serves every bucket and the last short batch.
        features = {name: tf.TensorSpec([None, None], tf.int32) for name in FEATURES}
        self._logits = tf.function(
            lambda features: model(features, training=False), input_signature=[features]
        )

    def __call__(self, examples):
        order = np.argsort(examples.lengths, kind="stable")
        by_length = evaluation_dataset(
            examples.take(order),
            self.batch_size,
            self.max_seq_length,
            buckets=FINE_BUCKETS,
        )
        parts = [
            self._logits({name: batch[name] for name in FEATURES}).numpy()
            for batch in by_length
        ]
        return np.concatenate(parts)[np.argsort(order)]


def probabilities(task, logits):
    """What result files show of `[N, num_outputs]` logits: probabilities or values."""
    if task.kind == REGRESSION:
        return logits
    if task.kind == MULTI_LABEL:
        return 1.0 / (1.0 + np.exp(-logits))
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
