"""What fine-tuning a classifier or regressor minimises."""

import tensorflow as tf

from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION


class ClassificationObjective:
    """The loss of a text task, for the training engine.

    Cross-entropy for single-label, mean binary cross-entropy over the labels for
    multi-label, squared error for regression (official `classifier_utils.py`); always
    in float32.

    Args:
        kind: kind of the `TextTask`.
    """

    def __init__(self, kind):
        self.kind = kind

    def denominators(self, batch):
        """The loss is a mean over the rows of the global batch."""
        return {"classification": tf.cast(tf.shape(batch["labels"])[0], tf.float32)}

    def __call__(self, model, batch, training, dropout_seed):
        features = {k: v for k, v in batch.items() if k != "labels"}
        logits = model(features, training=training, dropout_seed=dropout_seed)
        logits = tf.cast(logits, tf.float32)  # [B, outputs]
        labels = batch["labels"]
        losses = self._losses(logits, labels)  # [B]
        right, rows = (
            self._accuracy(logits, labels),
            tf.cast(tf.size(losses), "float32"),
        )
        metrics = {} if right is None else {"accuracy": (right, rows)}
        return {"classification": tf.reduce_sum(losses)}, metrics

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

    def _accuracy(self, logits, labels):
        if self.kind == REGRESSION:
            return None
        if self.kind == MULTI_LABEL:
            right = tf.equal(tf.cast(logits > 0, labels.dtype), labels)
            right = tf.reduce_all(right, axis=-1)  # [B, L] -> [B]
        else:
            right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), labels)
        return tf.reduce_sum(tf.cast(right, tf.float32))
