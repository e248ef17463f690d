"""What fine-tuning a classifier or regressor minimises."""

import tensorflow as tf

from albert_tf.engine.objective import Objective
from albert_tf.engine.objective import example_weights
from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION


class ClassificationObjective(Objective):
    """The loss of a text task, a mean over the rows of the global batch.

    Cross-entropy for single-label, mean binary cross-entropy over the labels for
    multi-label, squared error for regression (official `classifier_utils.py`).

    Args:
        kind: kind of the `TextTask`.
    """

    loss_terms = ("classification",)

    def __init__(self, kind):
        self.kind = kind
        self.metric_names = () if kind == REGRESSION else ("accuracy",)

    def denominators(self, batch):
        return {"classification": tf.reduce_sum(example_weights(batch))}

    def __call__(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in FEATURES}
        logits = model(features, training=training, dropout_seed=dropout_seed)
        logits = tf.cast(logits, tf.float32)  # [B, outputs]
        labels, weights = batch["labels"], example_weights(batch)
        loss = tf.reduce_sum(self._losses(logits, labels) * weights)
        metrics = {}
        if self.kind != REGRESSION:
            right = tf.reduce_sum(self._right(logits, labels) * weights)
            metrics["accuracy"] = (right, tf.reduce_sum(weights))
        return {"classification": loss}, metrics

    def _losses(self, logits, labels):
        if self.kind == REGRESSION:
            return tf.square(logits[:, 0] - tf.cast(labels, tf.float32))
        if self.kind == MULTI_LABEL:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(
                labels=tf.cast(labels, tf.float32), logits=logits
            )
            return tf.reduce_mean(losses, axis=-1)  # [B, L] -> [B]
        return tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits
        )

    def _right(self, logits, labels):
        if self.kind == MULTI_LABEL:
            right = tf.equal(tf.cast(logits > 0, labels.dtype), labels)
            right = tf.reduce_all(right, axis=-1)  # [B, L] -> [B]
        else:
            right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
        return tf.cast(right, tf.float32)
