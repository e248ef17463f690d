"""Objective of training vectors of texts."""

import keras
import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.tasks.batching import FEATURES


class SimilarityTerm(LossTerm):
    """The loss of a `Similarity` task over the rows of a whole batch."""

    name = "similarity"

    def __init__(self, task):
        self._task = task
        self.metric_names = ("accuracy",) if task.has_accuracy else ()

    def weights(self, batch):
        return tf.ones(tf.shape(batch["labels"])[:1])

    def sums(self, outputs, batch):
        losses, hits = self._task.losses(outputs, batch["labels"])
        count = tf.reduce_sum(self.weights(batch))
        metrics = {"accuracy": (tf.reduce_sum(hits), count)} if hits is not None else {}
        return tf.reduce_sum(losses), metrics


class SimilarityObjective(Objective):
    """One term on the vectors of all rows of a global batch.

    Args:
        task: a `Similarity`.
    """

    compares_rows = True

    def __init__(self, task):
        super().__init__([SimilarityTerm(task)])
        self._task = task

    def outputs(self, model, batch, training, dropout_seed):
        self._task.check_model(model.config)
        features = {name: batch[name] for name in FEATURES}
        vectors = model(features, training=training, dropout_seed=dropout_seed)
        return tf.cast(vectors, tf.float32)


class SimilarityLoss(keras.losses.Loss):
    """The loss of a `Similarity` task as `keras.Model.compile` takes it.

    Negatives are the other rows of a device's batch.

    Args:
        task: a `Similarity`.
    """

    def __init__(self, task):
        super().__init__(name=task.loss)
        self._task = task

    def call(self, y_true, y_pred):
        # Keras makes floats of the labels.
        labels = tf.cast(y_true, tf.float32 if y_true.shape.rank == 1 else tf.int32)
        return self._task.losses(tf.cast(y_pred, tf.float32), labels)[0]
