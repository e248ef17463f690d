"""Training on strings by `keras.Model.fit`; losses and metrics of text tasks."""

import math
import os
from typing import TYPE_CHECKING
from typing import Any

import keras
import tensorflow as tf

from albert_tf.optimizers import create_optimizer
from albert_tf.tasks.batching import BUCKETS
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import features_and_labels
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.registry import create_task

if TYPE_CHECKING:
    from typing_extensions import Self

_WARMUP = 0.1  # of all steps


class TextModel:
    """Base class of `TextClassifier` and `TextEmbedder`: a Keras model on strings.

    Attributes:
        model: the model; None until it is built.
        tokenizer: its `Tokenizer`.
    """

    model = tokenizer = _task = _max_length = None

    @classmethod
    def from_pretrained(cls, pretrained: str | os.PathLike, **arguments: Any) -> "Self":
        """Loads a model as the constructor does, with its arguments."""
        return cls(pretrained, **arguments)

    def save_pretrained(
        self, directory: str | os.PathLike, format: str = "model_directory"
    ) -> None:
        """Writes model, tokenizer and task; see `PretrainedModel.save_pretrained`.

        `Predictor`, the export and the commands read the folder; sentence-transformers
        reads an embedding model saved with `format="huggingface"`.
        """
        self._check_trained()
        self.model.save_pretrained(directory, self.tokenizer, format=format)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Uploads model, tokenizer and task; see `PretrainedModel.push_to_hub`.

        `options` are its other arguments, such as `private` and `license`.
        """
        self._check_trained()
        return self.model.push_to_hub(name, self.tokenizer, **options)

    def _check_trained(self):
        """Refuses a model that has not been built yet."""

    def _set_task(self, task):
        """Sets the task used for saving and predicting."""
        self._task, length = task, self._max_length
        self.model.saved_task_info = {"task": task.to_dict(), "max_seq_length": length}


def fit(
    model,
    examples,
    loss,
    max_length,
    epochs,
    batch_size,
    learning_rate,
    optimizer=None,
    seed=0,
    metrics=(),
    held_out=None,
    **options,
):
    """Compiles and trains a model on batches of similar length.

    Args:
        model: a Keras model of `FEATURES`.
        examples: labelled `TokenizedExamples`.
        loss, metrics, epochs: see `keras.Model.compile` and `fit`.
        max_length: maximum number of tokens in a row.
        batch_size: examples per step.
        learning_rate: AdamW's peak learning rate, reached after a tenth of the steps;
            it then decays linearly to 0.
        optimizer: a Keras optimizer to use instead of AdamW.
        seed: the seed of the shuffling.
        held_out: labelled `TokenizedExamples` to evaluate on after each epoch, or None.
        **options: other arguments of `keras.Model.fit`.

    Returns:
        Keras' `History`.
    """
    steps = math.ceil(len(examples) / batch_size) * epochs
    if optimizer is None:
        warmup = int(steps * _WARMUP)
        optimizer = create_optimizer("adamw", learning_rate, steps, warmup)
    model.compile(optimizer, loss, metrics=list(metrics))
    # If the first step created variables, TensorFlow would trace it twice.
    if not model.optimizer.built:
        with model.distribute_strategy.scope():
            model.optimizer.build(model.trainable_weights)
    # On accelerators Keras uses XLA, which compiles a step for each length.
    buckets = BUCKETS if tf.config.list_logical_devices("GPU") else FINE_BUCKETS
    batches = training_dataset(
        examples, batch_size, max_length, seed, buckets=buckets, repeat=False
    )
    if held_out is not None:
        held_out = evaluation_dataset(held_out, batch_size, max_length)
        held_out = held_out.map(features_and_labels)
    return model.fit(
        batches.map(features_and_labels),
        epochs=epochs,
        validation_data=held_out,
        shuffle=False,  # the dataset shuffles the whole epoch
        **options,
    )


class _OfTask:
    """A loss or metric that stores its task."""

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "task": create_task(**config["task"])})


@keras.saving.register_keras_serializable(package="albert_tf")
class TaskLoss(_OfTask, keras.losses.Loss):
    """The loss of each row; serialized with its task.

    If the loss compares rows, it compares those of one device's batch.

    Args:
        task: a `TextTask` or a `Similarity`.
    """

    def __init__(self, task, **kwargs):
        super().__init__(**{"name": task.kind, **kwargs})
        self._task = task

    def call(self, y_true, y_pred):
        outputs = tf.cast(y_pred, tf.float32)
        return self._task.losses(outputs, _labels(self._task, y_true))

    def get_config(self):
        return {**super().get_config(), "task": self._task.to_dict()}


@keras.saving.register_keras_serializable(package="albert_tf")
class TaskAccuracy(_OfTask, keras.metrics.MeanMetricWrapper):
    """The fraction of correct rows; serialized with its task."""

    def __init__(self, task, name="accuracy", dtype=None):
        def accuracy(y_true, y_pred):
            return task.right(y_pred, _labels(task, y_true))

        super().__init__(accuracy, name=name, dtype=dtype)
        self._task = task

    def get_config(self):
        task = self._task.to_dict()
        return {"name": self.name, "dtype": self.dtype, "task": task}


def _labels(task, y_true):
    """Casts labels back to the task's type, since Keras converts them to float."""
    return tf.cast(y_true, task.label_dtype(y_true.shape.rank))
