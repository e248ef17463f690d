"""Answers of a served classifier or regressor."""

import numpy as np
import tensorflow as tf

from albert_tf.tasks.serving import EXIT_LAYER
from albert_tf.tasks.serving import Head
from albert_tf.tasks.serving import log_shares


class TextHead(Head):
    """Texts, or pairs of them."""

    name = "classification"

    @property
    def text_inputs(self):
        return ("text", "text_pair") if self.task.pair else ("text",)

    @property
    def optional_inputs(self):
        # It is unknown whether the model was trained on pairs.
        return ("text_pair",) if self.task.pair is None else ()


class LabelsHead(TextHead):
    """The probability of each label."""

    def meaning(self):
        order = ", ".join(self.task.labels)
        return {"probabilities": f"probability of each label, in the order {order}"}

    def answer(self, outputs):
        """Returns a float for each label, and the layers of an early exit."""
        shares = map(float, outputs["probabilities"])
        by_name = dict(zip(self.task.labels, shares, strict=True))
        early = {name: outputs[name] for name in outputs if name == EXIT_LAYER}
        return {"probabilities": by_name, **early}


class SingleLabelHead(LabelsHead):
    """The most probable label, and the probability of each."""

    def numbers(self, outputs):
        return {"probabilities": tf.nn.softmax(outputs)}

    def answers(self, numbers, features):
        best = tf.argmax(numbers["probabilities"], axis=-1)
        return {**numbers, "label": tf.gather(tf.constant(self.task.labels), best)}

    def meaning(self):
        return {**super().meaning(), "label": "the most probable label"}

    def answer(self, outputs):
        return {"label": outputs["label"], **super().answer(outputs)}

    def outputs(self, numbers):
        return log_shares(numbers["probabilities"])


class MultiLabelHead(LabelsHead):
    """The labels that apply, and the probability of each."""

    def numbers(self, outputs):
        return {"probabilities": tf.sigmoid(outputs)}

    def answers(self, numbers, features):
        applies = numbers["probabilities"] > 0.5
        labels = tf.where(applies, tf.constant(self.task.labels), "")
        return {**numbers, "labels": labels}

    def meaning(self):
        labels = "the labels that apply, in that order; others are empty"
        return {**super().meaning(), "labels": labels}

    def answer(self, outputs):
        labels = [name for name in outputs["labels"] if name]
        return {"labels": labels, **super().answer(outputs)}

    def outputs(self, numbers):
        edge = np.finfo(np.float32).eps
        shares = np.clip(np.asarray(numbers["probabilities"]), edge, 1 - edge)
        return np.log(shares) - np.log1p(-shares)


class NumberHead(TextHead):
    """A number, by the name of the task's output."""

    name = "regression"

    def numbers(self, outputs):
        return {self.task.output_names[0]: outputs[:, 0]}  # [B, 1] -> [B]

    def meaning(self):
        return {self.task.output_names[0]: "the predicted value"}

    def outputs(self, numbers):
        values = numbers[self.task.output_names[0]]
        return np.asarray(values)[:, None]  # [B] -> [B, 1]
