"""Any number of labels for each text."""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.objectives.distances import sigmoid_distances
from albert_tf.tasks import metrics
from albert_tf.tasks.classification import results
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.tables import trimmed

LABEL_SEPARATOR = "|"
"""Between the labels of one row of a TSV or CSV."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultiLabel(TextTask):
    """Binary cross-entropy, a mean over the labels."""

    kind: typing.ClassVar[str] = "multi_label"
    has_accuracy: typing.ClassVar[bool] = True
    default_metrics: typing.ClassVar[tuple] = ("f1", "accuracy")
    fewest_labels: typing.ClassVar[int] = 1

    def parse_label(self, value):
        vector = np.zeros(len(self.labels), np.int32)
        vector[[self.label_id(name) for name in self.label_names(value)]] = 1
        return vector

    @classmethod
    def label_names(cls, value):
        """Names in a JSON list, or in a text such as `"a|b"`."""
        if not isinstance(value, list):
            value = value.split(LABEL_SEPARATOR)
        for name in value:
            if name is None or isinstance(name, list | dict):
                raise ValueError(f"the label {value!r} is not a list of names")
        return [name for name in (trimmed(str(name)) for name in value) if name]

    def losses(self, logits, labels):
        losses = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.cast(labels, tf.float32), logits=logits
        )
        return tf.reduce_mean(losses, axis=-1)  # [B, L] -> [B]

    def distances(self, logits, teacher, temperature):
        distances = sigmoid_distances(logits, teacher, temperature)
        return tf.reduce_mean(distances, axis=-1)  # [B, L] -> [B]

    def right(self, logits, labels):
        same = tf.equal(tf.cast(logits > 0, labels.dtype), labels)
        return tf.cast(tf.reduce_all(same, axis=-1), tf.float32)  # [B, L] -> [B]

    def predictions(self, logits):
        return (logits > 0).astype(np.int32)

    def probabilities(self, logits):
        return 1.0 / (1.0 + np.exp(-logits))

    def mean_loss(self, labels, logits):
        logits = logits.astype(np.float64)
        return float(np.mean(np.logaddexp(0.0, logits) - logits * labels))

    def worth_a_look(self, labels, predictions):
        return np.flatnonzero((labels != predictions).any(axis=1))  # [N, L] -> [N]

    def write_scored(self, output_dir, name, prepared, outputs):
        """Writes as `Task.write_scored`, with a confusion matrix for each label."""
        super().write_scored(output_dir, name, prepared, outputs)
        labels = prepared.tokens.labels.T.astype(int)  # [L, N]
        predictions = self.predictions(outputs).T.astype(int)
        matrices = [
            metrics.confusion_matrix(true, predicted, 2)
            for true, predicted in zip(labels, predictions, strict=True)
        ]
        results.write_class_scores(
            output_dir / f"{name}_class_scores.json",
            self.labels,
            np.stack(matrices),
            [metrics.per_class(matrix)[1] for matrix in matrices],
        )

    def label_text(self, label):
        return LABEL_SEPARATOR.join(self.labels[i] for i in np.flatnonzero(label))

    def answer_columns(self, answer):
        return [LABEL_SEPARATOR.join(answer["labels"])]

    @property
    def head_class(self):
        from albert_tf.tasks.classification.serving import MultiLabelHead

        return MultiLabelHead
