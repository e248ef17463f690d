"""Objective of fine-tuning on questions, in the engine's interface."""

import tensorflow as tf

from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import example_weights
from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.question_answering import losses


class QuestionAnsweringObjective(Objective):
    """The loss of SQuAD 1.1 or 2.0, a mean over the windows of the global batch.

    Labels are as in `Windows`, int32 `[batch, 3]`.

    Args:
        version: 1 or 2.
        counts_padding: of version 1, let padding take part in the softmax as the
            official code does; the loss then depends on the width of the batch.
    """

    def __init__(self, version, counts_padding=False):
        self.version = version
        self._counts_padding = counts_padding
        self.loss_terms = ("span",) if version == 1 else ("span", "answerable")
        self.metric_names = tuple(f"{term}_accuracy" for term in self.loss_terms)

    def denominators(self, batch):
        return dict.fromkeys(self.loss_terms, tf.reduce_sum(example_weights(batch)))

    def __call__(self, model, batch, training, dropout_seed):
        start, end, is_impossible = tf.unstack(batch["labels"], axis=1)  # [B] each
        features = {name: batch[name] for name in FEATURES}
        if self.version == 2:
            features["start_positions"] = start
            if "p_mask" in batch:
                features["p_mask"] = batch["p_mask"]
        outputs = model(features, training=training, dropout_seed=dropout_seed)
        if self.version == 1:
            if not self._counts_padding:
                outputs = losses.without_padding(outputs, features["input_mask"])
            by_term = {"span": losses.version_1_losses(outputs, start, end)}
            scores = outputs["start_logits"], outputs["end_logits"]
        else:
            by_term = {
                "span": losses.version_2_span_losses(outputs, start, end),
                "answerable": losses.answerable_losses(outputs, is_impossible),
            }
            scores = outputs["start_log_probs"], outputs["end_log_probs"]
        right = {"span_accuracy": _hits(scores[0], start) & _hits(scores[1], end)}
        if self.version == 2:
            says_none = outputs["cls_logits"] > 0
            right["answerable_accuracy"] = says_none == tf.cast(is_impossible, tf.bool)
        weights = example_weights(batch)

        def total(values):
            return tf.reduce_sum(tf.cast(values, tf.float32) * weights)

        metrics = {n: (total(r), tf.reduce_sum(weights)) for n, r in right.items()}
        return {term: total(values) for term, values in by_term.items()}, metrics


def _hits(scores, positions):
    return tf.argmax(scores, axis=-1, output_type=tf.int32) == positions
