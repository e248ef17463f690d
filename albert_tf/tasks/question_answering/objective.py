"""Objective of fine-tuning on questions, in the engine's interface."""

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import example_weights
from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.question_answering import losses


class SpanTerm(LossTerm):
    """The loss of starts and ends, a mean over the windows of the global batch.

    Args:
        version: 1 or 2.
    """

    name = "span"
    metric_names = ("span_accuracy",)

    def __init__(self, version):
        self._version = version

    def weights(self, batch):
        return example_weights(batch)

    def sums(self, outputs, batch):
        start, end = batch["labels"][:, 0], batch["labels"][:, 1]
        if self._version == 1:
            values = losses.version_1_losses(outputs, start, end)
            scores = outputs["start_logits"], outputs["end_logits"]
        else:
            values = losses.version_2_span_losses(outputs, start, end)
            scores = outputs["start_log_probs"], outputs["end_log_probs"]
        right = _hits(scores[0], start) & _hits(scores[1], end)
        return _sums(values, right, self.weights(batch), *self.metric_names)


class AnswerableTerm(LossTerm):
    """The loss of whether there is an answer, of SQuAD 2.0."""

    name = "answerable"
    metric_names = ("answerable_accuracy",)

    def weights(self, batch):
        return example_weights(batch)

    def sums(self, outputs, batch):
        is_impossible = batch["labels"][:, 2]
        values = losses.answerable_losses(outputs, is_impossible)
        right = (outputs["cls_logits"] > 0) == tf.cast(is_impossible, tf.bool)
        return _sums(values, right, self.weights(batch), *self.metric_names)


class QuestionAnsweringObjective(Objective):
    """The losses of SQuAD 1.1 or 2.0.

    Labels are as in `Windows`, int32 `[batch, 3]`.

    Args:
        version: 1 or 2.
        counts_padding: of version 1, let padding take part in the softmax as the
            official code does; the loss then depends on the width of the batch.
    """

    def __init__(self, version, counts_padding=False):
        super().__init__(
            [SpanTerm(1)] if version == 1 else [SpanTerm(2), AnswerableTerm()]
        )
        self.version = version
        self._counts_padding = counts_padding

    def outputs(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in FEATURES}
        if self.version == 2:
            features["start_positions"] = batch["labels"][:, 0]
            if "p_mask" in batch:
                features["p_mask"] = batch["p_mask"]
        outputs = model(features, training=training, dropout_seed=dropout_seed)
        if self.version == 2 or self._counts_padding:
            return outputs
        return losses.without_padding(outputs, features["input_mask"])


def _sums(values, right, weights, metric):
    """Sums losses and right answers as `LossTerm.sums`."""
    right = tf.reduce_sum(tf.cast(right, tf.float32) * weights)
    total = tf.reduce_sum(weights)
    return tf.reduce_sum(values * weights), {metric: (right, total)}


def _hits(scores, positions):
    return tf.argmax(scores, axis=-1, output_type=tf.int32) == positions
