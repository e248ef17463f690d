"""Fine-tuning objective of question answering, with one loss per window.

Source: the model functions of `v1_model_fn_builder` and `v2_model_fn_builder` in
squad_utils.py of google-research/albert.
"""

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import weighted_sums
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.row_layout import FEATURES

_MASKED = -1e30


def span_distances(logits, teacher, temperature):
    """Averages the distances of starts and ends to the teacher's: float32 `[batch]`.

    Args:
        logits, teacher: float32 `[batch, tokens, 2]`, -1e30 for padding.
        temperature: see `softmax_distances`.
    """
    by_side = [tf.transpose(values, [0, 2, 1]) for values in (logits, teacher)]
    return tf.reduce_mean(softmax_distances(*by_side, temperature), axis=-1)


class SpanTerm(LossTerm):
    """Mean loss of starts and ends over the windows of the global batch.

    A window's loss is the mean of two cross-entropies over its tokens; an
    `AlbertForAnswerableQuestions` scores ends given the correct start.

    Args:
        version: 1 or 2.
    """

    name = "span"
    metric_names = ("span_accuracy",)

    def __init__(self, version):
        self._version = version

    def sums(self, outputs, batch):
        places = [batch["labels"][:, 0], batch["labels"][:, 1]]
        kind = "logits" if self._version == 1 else "log_probs"
        scores = [outputs[f"start_{kind}"], outputs[f"end_{kind}"]]
        start, end = map(self._losses, scores, places)
        best = tf.argmax(tf.stack(scores), axis=-1, output_type=tf.int32)  # [2, B]
        right = tf.reduce_all(best == tf.stack(places), axis=0)
        losses, weights = 0.5 * (start + end), self.weights(batch)
        return weighted_sums(losses, right, weights, "span_accuracy")

    def _losses(self, scores, places):
        if self._version == 1:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(places, scores)
        return -tf.gather(scores, places, batch_dims=1)


class AnswerableTerm(LossTerm):
    """Half the binary cross-entropy of answerability, in SQuAD 2.0."""

    name = "answerable"
    metric_names = ("answerable_accuracy",)

    def sums(self, outputs, batch):
        is_impossible, logits = batch["labels"][:, 2], outputs["cls_logits"]
        values = 0.5 * tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.cast(is_impossible, tf.float32), logits=logits
        )
        right = (logits > 0) == tf.cast(is_impossible, tf.bool)
        weights = self.weights(batch)
        return weighted_sums(values, right, weights, "answerable_accuracy")


class QuestionAnsweringObjective(Objective):
    """The losses of SQuAD 1.1 or 2.0.

    Labels are as in `Windows`, int32 `[batch, 3]`.

    Args:
        version: 1 or 2.
        counts_padding: for version 1, include padding in the softmax as the official
            code does; the loss then depends on the width of the batch.
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
        # The official code includes padding, but pads all windows to the same length.
        # If batches were padded to their longest window, the loss of a window would
        # depend on the others.
        real = features["input_mask"] > 0
        names = ("start_logits", "end_logits")
        return {name: tf.where(real, outputs[name], _MASKED) for name in names}
