"""Losses of fine-tuning on questions, a value for each window.

Source: the model functions of `v1_model_fn_builder` and `v2_model_fn_builder` in
squad_utils.py of google-research/albert.
"""

import tensorflow as tf

from albert_tf.objectives.distillation import softmax_distances

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
