"""The pretraining losses: masked language model and sentence order."""

import tensorflow as tf

from albert_tf.engine.objective import Objective
from albert_tf.engine.objective import example_weights

_FEATURES = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
_PACKED_FEATURES = ("pair_ids", "cls_positions")


class PretrainingObjective(Objective):
    """Masked LM plus sentence order, unweighted; paper section 3.1.

    Official `run_pretraining.py`: the masked LM loss is a mean over masked tokens
    (denominator + 1e-5), the sentence-order loss a mean over sequences. In packed
    rows each pair is a sequence, so the losses are those of the unpacked pairs.

    Whether two segments are in order or follow each other at all (BERT's next
    sentence) is a matter of the data; head, loss and metrics are those called
    sentence order in both cases.

    Args:
        sentence_order: False leaves the sentence loss and its metrics out.
    """

    epsilons = {"masked_lm": 1e-5}

    def __init__(self, sentence_order=True):
        self.loss_terms = ("masked_lm", "sentence_order")[: 1 + sentence_order]
        self.metric_names = tuple(f"{term}_accuracy" for term in self.loss_terms)

    def denominators(self, batch):
        return {term: tf.reduce_sum(w) for term, w in self._weights(batch).items()}

    def __call__(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in _FEATURES}
        features.update({n: batch[n] for n in _PACKED_FEATURES if n in batch})
        outputs = model(
            features, training=training, dropout_seed=dropout_seed, logits_only=True
        )
        all_labels = {
            "masked_lm": batch["masked_lm_ids"],  # [B, P]
            "sentence_order": batch["sentence_order_labels"],  # [B] or [B, K]
        }
        losses, metrics = {}, {}
        for term, weights in self._weights(batch).items():
            labels = all_labels[term]
            logits = tf.cast(outputs[f"{term}_logits"], tf.float32)
            cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits
            )
            losses[term] = tf.reduce_sum(cross_entropy * weights)
            right = tf.argmax(logits, axis=-1, output_type=labels.dtype) == labels
            right = tf.reduce_sum(tf.cast(right, tf.float32) * weights)
            metrics[f"{term}_accuracy"] = (right, tf.reduce_sum(weights))
        return losses, metrics

    def _weights(self, batch):
        """What each label counts, `{term: float32 like the labels}`."""
        rows = example_weights(batch)  # [B]
        sentence_order = rows
        if "sentence_order_weights" in batch:
            sentence_order = batch["sentence_order_weights"] * rows[:, None]  # [B, K]
        weights = {
            "masked_lm": batch["masked_lm_weights"] * rows[:, None],  # [B, P]
            "sentence_order": sentence_order,
        }
        return {term: weights[term] for term in self.loss_terms}
