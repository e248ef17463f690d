"""Fine-tuning objective of text tasks, and the losses of single-label tasks."""

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import weighted_sums
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.row_layout import FEATURES


class OneLabel:
    """Cross-entropy losses of tasks with one label per row, or one per token.

    Logits are float32 `[B, L]`, labels int32 `[B]`; for tokens both are `[B, T, …]`.
    """

    has_accuracy = True

    def losses(self, logits, labels):
        """Computes the float32 cross-entropy of each label."""
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

    def right(self, logits, labels):
        """Returns float32: 1 where the label has the highest logit, else 0."""
        best = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return tf.cast(tf.equal(best, labels), tf.float32)

    def distances(self, logits, teacher, temperature):
        """Computes `softmax_distances` from a teacher's logits."""
        return softmax_distances(logits, teacher, temperature)


class TextTerm(LossTerm):
    """The loss of a text task, a mean over the rows of the global batch.

    Args:
        task: a `TextTask`, or another task with `losses`, `right` and `has_accuracy`.
    """

    name = "classification"

    def __init__(self, task):
        self._task = task
        self.metric_names = ("accuracy",) if task.has_accuracy else ()

    def sums(self, outputs, batch):
        labels, weights = batch["labels"], self.weights(batch)
        # [B, outputs], or all that a model with several outputs returns.
        logits = tf.nest.map_structure(lambda v: tf.cast(v, tf.float32), outputs)
        losses = self._task.losses(logits, labels)
        if not self.metric_names:
            return tf.reduce_sum(losses * weights), {}
        right = self._task.right(logits, labels)
        return weighted_sums(losses, right, weights, "accuracy")


class ExitsTerm(TextTerm):
    """Mean loss of the exit heads of all layers, weighted by depth.

    PABEE (Zhou et al., arXiv 2006.04152), formula 3. With `early_exit_distillation`,
    the earlier heads also learn from the last head. Metrics are the last head's.
    """

    def sums(self, outputs, batch):
        layers = tf.unstack(tf.cast(outputs, tf.float32), axis=1)  # [B, outputs] each
        found = [super(ExitsTerm, self).sums(logits, batch) for logits in layers]
        losses = [loss for loss, _ in found]
        share = self._task.early_exit.early_exit_distillation
        if share:
            last = tf.stop_gradient(layers[-1])
            weights = self.weights(batch)
            for layer, logits in enumerate(layers[:-1]):
                distances = self._task.distances(logits, last, 1.0)
                losses[layer] += share * tf.reduce_sum(distances * weights)
        depth = tf.range(1.0, len(layers) + 1)  # [layers]
        mean = tf.reduce_sum(depth * tf.stack(losses)) / tf.reduce_sum(depth)
        return mean, found[-1][1]


class TextObjective(Objective):
    """One term on the logits of a model that takes `FEATURES`.

    Args:
        task: see `TextTerm`.
    """

    term_class = TextTerm

    def __init__(self, task):
        self._task, exits = task, task.early_exit is not None
        self._asked = {"all_layers": True} if exits else {}
        super().__init__([(ExitsTerm if exits else self.term_class)(task)])

    def outputs(self, model, batch, training, dropout_seed):
        features = {name: batch[name] for name in FEATURES}
        seed = dropout_seed
        return model(features, training=training, dropout_seed=seed, **self._asked)
