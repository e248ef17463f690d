"""The pretraining losses: masked language model and sentence order."""

import tensorflow as tf

from albert_tf.training.objective import Objective
from albert_tf.training.objective import example_weights

_FEATURES = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")


class PretrainingObjective(Objective):
    """Masked LM plus sentence order, unweighted; paper section 3.1.

    Official `run_pretraining.py`: the masked LM loss is a mean over masked tokens
    (denominator + 1e-5), the sentence-order loss a mean over sequences.
    """

    loss_terms = ("masked_lm", "sentence_order")
    metric_names = ("masked_lm_accuracy", "sentence_order_accuracy")
    epsilons = {"masked_lm": 1e-5}

    def denominators(self, batch):
        rows = example_weights(batch)  # [B]
        return {
            "masked_lm": tf.reduce_sum(batch["masked_lm_weights"] * rows[:, None]),
            "sentence_order": tf.reduce_sum(rows),
        }

    def __call__(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in _FEATURES}
        outputs = model(features, training=training, dropout_seed=dropout_seed)
        rows = example_weights(batch)  # [B]
        losses, metrics = {}, {}
        for term, logits, labels, weights in (
            (
                "masked_lm",
                outputs["masked_lm_logits"],  # [B, P, V]
                batch["masked_lm_ids"],  # [B, P]
                batch["masked_lm_weights"] * rows[:, None],  # [B, P]
            ),
            (
                "sentence_order",
                outputs["sentence_order_logits"],  # [B, 2]
                batch["sentence_order_labels"],  # [B]
                rows,
            ),
        ):
            logits = tf.cast(logits, tf.float32)
            cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits
            )
            losses[term] = tf.reduce_sum(cross_entropy * weights)
            right = tf.argmax(logits, axis=-1, output_type=labels.dtype) == labels
            right = tf.reduce_sum(tf.cast(right, tf.float32) * weights)
            metrics[f"{term}_accuracy"] = (right, tf.reduce_sum(weights))
        return losses, metrics
