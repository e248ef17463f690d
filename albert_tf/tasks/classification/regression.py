"""A number for each text."""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.tasks import metrics
from albert_tf.tasks.classification.text_task import TextTask


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regression(TextTask):
    """Squared error; official `classifier_utils.py`."""

    kind: typing.ClassVar[str] = "regression"
    default_metrics: typing.ClassVar[tuple] = ("pearson", "spearman", "MSE")

    def losses(self, logits, labels):
        return tf.square(logits[:, 0] - tf.cast(labels, tf.float32))

    def mean_loss(self, labels, logits):
        return metrics.mean_squared_error(labels, logits.astype(np.float64)[:, 0])
