"""Objective of fine-tuning on questions, and its losses, a value for each window.

Source: the model functions of `v1_model_fn_builder` and `v2_model_fn_builder` in
squad_utils.py of google-research/albert.
"""

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import example_weights
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.tasks.batching import FEATURES

_MASKED = -1e30


def version_1_losses(outputs, start_positions, end_positions):
    """Averages the cross-entropies of start and end over all tokens; float32 `[batch]`.

    Args:
        outputs: of `AlbertForQuestionAnswering`, perhaps changed by `without_padding`.
        start_positions, end_positions: int32 `[batch]`; 0 where the window has no
            answer.
    """
    losses = [
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs[name])
        for labels, name in (
            (start_positions, "start_logits"),
            (end_positions, "end_logits"),
        )
    ]
    return 0.5 * (losses[0] + losses[1])


def without_padding(outputs, input_mask):
    """Returns outputs whose softmax of starts and ends has no part for padding.

    The official code lets it take part, but pads all windows to the same length. In a
    batch as wide as its longest, the loss of a window would depend on the others.

    Args:
        outputs: of `AlbertForQuestionAnswering`.
        input_mask: int32 `[batch, tokens]`.
    """
    return {
        name: tf.where(input_mask > 0, outputs[name], _MASKED)
        for name in ("start_logits", "end_logits")
    }


def span_distances(logits, teacher, temperature):
    """Averages the distances of starts and of ends to a teacher's; float32 `[batch]`.

    Args:
        logits, teacher: float32 `[batch, tokens, 2]`, -1e30 for padding.
        temperature: see `softmax_distances`.
    """
    by_side = [tf.transpose(values, [0, 2, 1]) for values in (logits, teacher)]
    return tf.reduce_mean(softmax_distances(*by_side, temperature), axis=-1)


def version_2_span_losses(outputs, start_positions, end_positions):
    """Computes `version_1_losses` of an `AlbertForAnswerableQuestions`, start given."""
    start = tf.gather(outputs["start_log_probs"], start_positions, batch_dims=1)
    end = tf.gather(outputs["end_log_probs"], end_positions, batch_dims=1)
    return -0.5 * (start + end)


def answerable_losses(outputs, is_impossible):
    """Halves the binary cross-entropy of having no answer; float32 `[batch]`.

    Args:
        outputs: of `AlbertForAnswerableQuestions`.
        is_impossible: int32 `[batch]`, 1 without an answer in the window.
    """
    return 0.5 * tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.cast(is_impossible, tf.float32), logits=outputs["cls_logits"]
    )


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
            values = version_1_losses(outputs, start, end)
            scores = outputs["start_logits"], outputs["end_logits"]
        else:
            values = version_2_span_losses(outputs, start, end)
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
        values = answerable_losses(outputs, is_impossible)
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
        return without_padding(outputs, features["input_mask"])


def _sums(values, right, weights, metric):
    """Sums losses and right answers as `LossTerm.sums`."""
    right = tf.reduce_sum(tf.cast(right, tf.float32) * weights)
    total = tf.reduce_sum(weights)
    return tf.reduce_sum(values * weights), {metric: (right, total)}


def _hits(scores, positions):
    return tf.argmax(scores, axis=-1, output_type=tf.int32) == positions
