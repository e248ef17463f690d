"""One of several labels for each text."""

import dataclasses
import typing

import numpy as np

from albert_tf.objectives.distances import softmax_distances
from albert_tf.tasks import metrics
from albert_tf.tasks.classification import results
from albert_tf.tasks.classification.objective import label_hits
from albert_tf.tasks.classification.objective import label_losses
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.tables import trimmed


@dataclasses.dataclass(frozen=True, kw_only=True)
class SingleLabel(TextTask):
    """Cross-entropy over the labels; official `classifier_utils.py`."""

    kind: typing.ClassVar[str] = "single_label"
    has_accuracy: typing.ClassVar[bool] = True
    default_metrics: typing.ClassVar[tuple] = ("accuracy", "macro_f1")
    fewest_labels: typing.ClassVar[int] = 2

    def parse_label(self, value):
        return self.label_id(value)

    @classmethod
    def label_names(cls, value):
        if isinstance(value, list):
            raise ValueError(f"the label {value!r} is a list; expected one name")
        if not trimmed(value):
            raise ValueError("the label is empty")
        return [trimmed(value)]

    def losses(self, logits, labels):
        return label_losses(logits, labels)

    def distances(self, logits, teacher, temperature):
        return softmax_distances(logits, teacher, temperature)

    def right(self, logits, labels):
        return label_hits(logits, labels)

    def predictions(self, logits):
        return logits.argmax(axis=-1).astype(np.int32)

    def probabilities(self, logits):
        return metrics.softmax(logits)

    def mean_loss(self, labels, logits):
        return metrics.cross_entropy(labels, logits)

    def score(self, prepared, outputs):
        """Scores as `Task.score`, and adds `majority_accuracy`."""
        labels = prepared.tokens.labels
        majority = float(np.bincount(labels).max() / len(labels))
        return {**super().score(prepared, outputs), "majority_accuracy": majority}

    def worth_a_look(self, labels, predictions):
        return np.flatnonzero(labels != predictions)

    def write_scored(self, output_dir, name, prepared, outputs):
        super().write_scored(output_dir, name, prepared, outputs)
        labels, predictions = prepared.tokens.labels, self.predictions(outputs)
        confusion = metrics.confusion_matrix(labels, predictions, self.num_outputs)
        results.write_class_scores(
            output_dir / f"{name}_class_scores.json",
            self.labels,
            confusion,
            metrics.per_class(confusion),
        )
        picture = output_dir / f"{name}_confusion.png"
        results.write_confusion_plot(picture, self.labels, confusion)

    def label_text(self, label):
        return self.labels[label]

    def answer_columns(self, answer):
        label = answer["label"]
        return [label, f"{answer['probabilities'][label]:.4f}"]

    @property
    def head_class(self):
        from albert_tf.tasks.classification.serving import SingleLabelHead

        return SingleLabelHead
