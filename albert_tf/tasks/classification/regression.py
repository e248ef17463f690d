"""A number for each text."""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.tasks import metrics
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.tables import trimmed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regression(TextTask):
    """Squared error; official `classifier_utils.py`."""

    kind: typing.ClassVar[str] = "regression"
    serves: typing.ClassVar[str] = "regression"
    has_accuracy: typing.ClassVar[bool] = False
    default_metrics: typing.ClassVar[tuple] = ("pearson", "spearman", "MSE")

    @property
    def num_outputs(self):
        return 1

    def output_names(self):
        return ("score",)

    def parse_label(self, value):
        try:
            number = float(trimmed(value))
        except (TypeError, ValueError):
            number = float("nan")
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise ValueError(f"the label {value!r} is not a number")
        return number

    def losses(self, logits, labels):
        return tf.square(logits[:, 0] - tf.cast(labels, tf.float32))

    def predictions(self, logits):
        return logits[:, 0]

    def probabilities(self, logits):
        return logits

    def mean_loss(self, labels, logits):
        return metrics.mean_squared_error(labels, logits.astype(np.float64)[:, 0])

    def worth_a_look(self, labels, predictions):
        """All rows, the largest error first: hardly a number is predicted exactly."""
        return np.argsort(-np.abs(labels - predictions), kind="stable")

    def label_text(self, label):
        return f"{label:.3f}"

    def answer_columns(self, answer):
        return [f"{answer['score']:.4f}"]

    def served_numbers(self, outputs):
        return {"score": outputs[:, 0]}  # [B, 1] -> [B]

    def served_answers(self, numbers):
        return numbers

    def served_meaning(self):
        return {"score": "the predicted value"}

    def outputs_from_served(self, numbers):
        return np.asarray(numbers["score"])[:, None]  # [B] -> [B, 1]
