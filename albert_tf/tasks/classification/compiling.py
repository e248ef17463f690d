"""The loss and the metrics of a task on texts, as `keras.Model.compile` takes them."""

import keras
import tensorflow as tf


def loss_of(task):
    """The `keras.losses.Loss` of a `TextTask`: a mean over the rows of a batch."""
    return _TaskLoss(task)


def metrics_of(task):
    """A list of Keras metrics: the accuracy, where the task has one."""
    if not task.has_accuracy:
        return []

    def accuracy(y_true, y_pred):
        return task.right(y_pred, tf.cast(y_true, _label_dtype(task)))

    return [keras.metrics.MeanMetricWrapper(accuracy, name="accuracy")]


class _TaskLoss(keras.losses.Loss):
    def __init__(self, task):
        super().__init__(name=task.kind)
        self._task = task

    def call(self, y_true, y_pred):
        # Keras makes floats of the labels.
        return self._task.losses(y_pred, tf.cast(y_true, _label_dtype(self._task)))


def _label_dtype(task):
    return tf.int32 if task.labels else tf.float32
