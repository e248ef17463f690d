"""A task of one's own, as docs/extending.md shows it: how long is a text?"""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.files import write_atomically
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.tables import Columns


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextLength(TextTask):
    """Predicts the number of words; no label is read, it is counted."""

    kind: typing.ClassVar[str] = "text_length"
    serves: typing.ClassVar[str] = "text_length"
    has_accuracy: typing.ClassVar[bool] = False
    default_metrics: typing.ClassVar[tuple] = ("minus_error",)

    @property
    def num_outputs(self):
        return 1

    def output_names(self):
        return ("words",)

    def read(self, split, skip_bad_rows=False):
        unlabelled = Columns(split.columns.text, split.columns.text_pair)
        split = dataclasses.replace(split, columns=unlabelled)
        table = super().read(split, skip_bad_rows)
        words = np.array([len(text.split()) for text in table.texts], np.float32)
        return dataclasses.replace(table, labels=words)

    def parse_label(self, value):
        raise ValueError("a length is counted, not read")

    def losses(self, logits, labels):
        return tf.abs(logits[:, 0] - labels)

    def predictions(self, logits):
        return logits[:, 0]

    def probabilities(self, logits):
        return logits

    def mean_loss(self, labels, logits):
        return float(np.abs(labels - logits[:, 0]).mean())

    def score(self, prepared, outputs):
        loss = self.mean_loss(prepared.tokens.labels, outputs)
        return {"minus_error": -loss, "loss": loss}

    def worth_a_look(self, labels, predictions):
        return np.flatnonzero(np.round(predictions) != labels)

    def write_predicted(self, output_dir, prefix, prepared, outputs, submission=None):
        lines = [f"{words:.1f}" for words in self.predictions(outputs)]
        write_atomically(output_dir / f"{prefix}lengths.txt", "\n".join(lines) + "\n")

    def label_text(self, label):
        return f"{label:.1f}"

    def answer_columns(self, answers, row):
        return [self.label_text(answers["words"][row])]

    def served_numbers(self, outputs):
        return {"words": outputs[:, 0]}

    def served_answers(self, numbers):
        return numbers

    def served_meaning(self):
        return {"words": "how many words the text has"}

    def outputs_from_served(self, numbers):
        return np.asarray(numbers["words"])[:, None]
