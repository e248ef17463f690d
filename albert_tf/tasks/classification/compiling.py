"""The loss and the metrics of a task on texts, as `keras.Model.compile` takes them."""

import keras
import tensorflow as tf

from albert_tf.tasks.registry import create_task


def loss_of(task):
    """Makes the `keras.losses.Loss` of a `TextTask`: a mean over a batch's rows."""
    return TaskLoss(task)


def metrics_of(task):
    """Lists Keras metrics: the accuracy, where the task has one."""
    return [TaskAccuracy(task)] if task.has_accuracy else []


@keras.saving.register_keras_serializable(package="albert_tf")
class TaskLoss(keras.losses.Loss):
    """The loss of each row; files keep the task with it."""

    def __init__(self, task, **kwargs):
        super().__init__(**{"name": task.kind, **kwargs})
        self._task = task

    def call(self, y_true, y_pred):
        # Keras makes floats of the labels.
        return self._task.losses(y_pred, tf.cast(y_true, _label_dtype(self._task)))

    def get_config(self):
        return {**super().get_config(), "task": self._task.to_dict()}

    @classmethod
    def from_config(cls, config):
        return _of_task(cls, config)


@keras.saving.register_keras_serializable(package="albert_tf")
class TaskAccuracy(keras.metrics.MeanMetricWrapper):
    """The share of rows that are right; files keep the task with it."""

    def __init__(self, task, name="accuracy", dtype=None):
        def accuracy(y_true, y_pred):
            return task.right(y_pred, tf.cast(y_true, _label_dtype(task)))

        super().__init__(accuracy, name=name, dtype=dtype)
        self._task = task

    def get_config(self):
        task = self._task.to_dict()
        return {"name": self.name, "dtype": self.dtype, "task": task}

    @classmethod
    def from_config(cls, config):
        return _of_task(cls, config)


def _of_task(cls, config):
    return cls(**{**config, "task": create_task(**config["task"])})


def _label_dtype(task):
    return tf.int32 if task.labels else tf.float32
