"""Answers of a served classifier or regressor."""

import numpy as np
import tensorflow as tf

from albert_tf.tasks.serving import EXIT_LAYER
from albert_tf.tasks.serving import Head


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

    def _by_name(self, probabilities):
        """Returns floats by the names of their labels."""
        return dict(zip(self.task.labels, map(float, probabilities), strict=True))

    def _exit(self, outputs):
        """Returns the number of layers that the answer took, where it left early."""
        return {EXIT_LAYER: outputs[EXIT_LAYER]} if EXIT_LAYER in outputs else {}

    def _probabilities(self):
        """Describes the output of probabilities."""
        order = ", ".join(self.task.labels)
        return f"probability of each label, in the order {order}"


class SingleLabelHead(TextHead):
    """The most probable label, and the probability of each."""

    def numbers(self, outputs):
        return {"probabilities": tf.nn.softmax(outputs)}

    def answers(self, numbers, features):
        best = tf.argmax(numbers["probabilities"], axis=-1)
        return {**numbers, "label": tf.gather(tf.constant(self.task.labels), best)}

    def meaning(self):
        return {
            "probabilities": self._probabilities(),
            "label": "the most probable label",
        }

    def answer(self, outputs):
        return {
            "label": outputs["label"],
            "probabilities": self._by_name(outputs["probabilities"]),
            **self._exit(outputs),
        }

    def outputs(self, numbers):
        # Logits up to a constant; a probability may have become 0.
        tiny = np.finfo(np.float32).tiny
        return np.log(np.maximum(np.asarray(numbers["probabilities"]), tiny))


class MultiLabelHead(TextHead):
    """The labels that apply, and the probability of each."""

    def numbers(self, outputs):
        return {"probabilities": tf.sigmoid(outputs)}

    def answers(self, numbers, features):
        applies = numbers["probabilities"] > 0.5
        labels = tf.where(applies, tf.constant(self.task.labels), "")
        return {**numbers, "labels": labels}

    def meaning(self):
        return {
            "probabilities": self._probabilities(),
            "labels": "the labels that apply, in that order; others are empty",
        }

    def answer(self, outputs):
        return {
            "labels": [name for name in outputs["labels"] if name],
            "probabilities": self._by_name(outputs["probabilities"]),
            **self._exit(outputs),
        }

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
