"""What fine-tuning on texts minimises."""

import tensorflow as tf

from albert_tf.engine.objective import Objective
from albert_tf.engine.objective import example_weights
from albert_tf.tasks.batching import FEATURES

_TERM = "classification"


class TextObjective(Objective):
    """The loss of a text task, a mean over the rows of the global batch.

    Args:
        task: a `TextTask`; its `losses` and `right` say what is minimised and what
            counts as accurate.
    """

    loss_terms = (_TERM,)

    def __init__(self, task):
        self._task = task
        self.metric_names = ("accuracy",) if task.has_accuracy else ()

    def denominators(self, batch):
        return {_TERM: tf.reduce_sum(example_weights(batch))}

    def __call__(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in FEATURES}
        logits = model(features, training=training, dropout_seed=dropout_seed)
        logits = tf.cast(logits, tf.float32)  # [B, outputs]
        labels, weights = batch["labels"], example_weights(batch)
        loss = tf.reduce_sum(self._task.losses(logits, labels) * weights)
        metrics = {}
        if self.metric_names:
            right = tf.reduce_sum(self._task.right(logits, labels) * weights)
            metrics["accuracy"] = (right, tf.reduce_sum(weights))
        return {_TERM: loss}, metrics
