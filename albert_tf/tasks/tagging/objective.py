"""Objective of fine-tuning on tagged words."""

import tensorflow as tf

from albert_tf.tasks.classification.objective import TextObjective
from albert_tf.tasks.classification.objective import TextTerm


class WordTerm(TextTerm):
    """Cross-entropy at the first pieces of words, a mean over the global batch.

    Labels are int32 `[batch, tokens]`, -1 where there is nothing to learn.
    """

    name = "tagging"
    epsilon = 1e-5  # windows of one long word need not have a first piece

    def weights(self, batch):
        counts = tf.cast(batch["labels"] >= 0, tf.float32)  # [B, T]
        return counts * super().weights(batch)[:, None]


class TaggingObjective(TextObjective):
    """One `WordTerm` on the logits of an `AlbertForTokenClassification`."""

    term_class = WordTerm
