"""The base of tasks whose input is a text, or a pair of texts."""

import abc
import dataclasses

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.models.labels import LABEL_KINDS
from albert_tf.objectives.texts import TextObjective
from albert_tf.tasks.metrics import METRICS
from albert_tf.tasks.tables import label_key
from albert_tf.tasks.tables import number_of
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.task import Task
from albert_tf.tasks.tokenized_examples import tokenize_texts

_SHOWN = 8  # label names in a message


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """A table of texts (or pairs), a label in each row, a linear head on [CLS].

    Unless a subclass says otherwise, a label is a number.

    Attributes:
        labels: label names in id order; empty where a label is a number.
        pair: whether the input is a pair of texts; None: the model does not say, since
            the command did not train it.
    """

    labels: tuple = ()
    pair: bool | None = False

    purpose = "text_classification"
    serves = "regression"
    has_accuracy = False
    fewest_labels = 0
    """Number of label names that it needs; 0 where it has none."""

    def __post_init__(self):
        for name in ("labels", "metrics"):
            values = getattr(self, name)
            strings = isinstance(values, list | tuple) and all(
                isinstance(value, str) for value in values
            )
            if not strings:
                raise ValueError(f"{name} is {values!r}, expected a list of strings")
            object.__setattr__(self, name, tuple(values))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"labels repeats a name: {', '.join(self.labels)}")
        if self.pair is not None and type(self.pair) is not bool:
            raise ValueError(f"pair is {self.pair!r}, expected true, false or null")
        metrics = self.metrics or self.default_metrics
        unknown = sorted(set(metrics) - {*METRICS, *self.default_metrics})
        if unknown:
            raise ValueError(f"the metric {unknown[0]!r} is unknown")
        object.__setattr__(self, "metrics", metrics)

    @classmethod
    def told(cls, head):
        labels = head.get("labels")
        if cls.kind != head.get("label_kind", "single_label" if labels else None):
            return None
        # Whether it was trained on pairs of texts, only the user knows.
        return {"name": "custom", "pair": None, "labels": list(labels or ())}

    @property
    def text_inputs(self):
        return ("text", "text_pair") if self.pair else ("text",)

    @property
    def optional_inputs(self):
        return ("text_pair",) if self.pair is None else ()

    @property
    def output_names(self):
        """Names of the model's outputs; the columns of `probabilities`."""
        return self.labels or ("score",)

    @property
    def num_outputs(self):
        """Width of the head."""
        return len(self.output_names)

    def label_dtype(self, axes):
        """Returns the type of labels as `losses` takes them."""
        return tf.int32 if self.labels else tf.float32

    def parse_label(self, value):
        """Parses the raw value of a table to a label as the objective takes it.

        Raises:
            ValueError: the value is no label of the task; the message says why.
        """
        return number_of(value)

    def label_id(self, name):
        """Returns a name's place among the labels, in whichever spelling.

        White space around it is ignored, and what `label_key` ignores.

        Raises:
            ValueError: it is none of them; the message shows the first few.
        """
        if name in self.labels:  # of which two may differ in white space alone
            return self.labels.index(name)
        keys, key = [label_key(label) for label in self.labels], label_key(name)
        if key not in keys:
            known = ", ".join(map(repr, self.labels[:_SHOWN]))
            more = ", …" if len(self.labels) > _SHOWN else ""
            raise ValueError(f"the label {name!r} is unknown (expected {known}{more})")
        return keys.index(key)

    @abc.abstractmethod
    def losses(self, logits, labels):
        """Computes each row's loss, float32 `[B]`, of float32 outputs `[B, …]`."""

    def right(self, logits, labels):
        """Returns float32 `[B]`: 1 where a row is right; if `has_accuracy`."""
        raise NotImplementedError

    def predictions(self, logits):
        """Predicts from `[N, outputs]` logits, in the form of labels."""
        return logits[:, 0]

    def probabilities(self, logits):
        """Returns the numbers of result files for `[N, outputs]` logits."""
        return logits

    def mean_loss(self, labels, logits):
        """Computes the training loss without dropout, a float."""
        return float(np.mean(self.losses(logits, labels)))

    def worth_a_look(self, labels, predictions):
        """Returns indices of the rows that `<split>_errors.tsv` shows.

        All, the largest error first: hardly a number is predicted exactly.
        """
        return np.argsort(-np.abs(labels - predictions), kind="stable")

    def label_text(self, label):
        """Returns the spelling in result files of one label or prediction."""
        return f"{label:.3f}"

    def answer_columns(self, answer):
        """Writes the columns that show a result of `answer`, as strings."""
        return [f"{value:.4f}" for value in answer.values()]

    def read(self, path, columns, role="dev", skip_bad_rows=False):
        """Reads the `Table` of a file; see `read_table`."""
        return read_table(path, columns, self.parse_label, skip_bad_rows, role)

    def tokenize(self, examples, tokenizer, max_seq_length):
        return tokenize_texts(
            examples.texts, examples.text_pairs, tokenizer, max_seq_length
        )

    def model_arguments(self):
        kind = {"label_kind": self.kind} if self.kind in LABEL_KINDS else {}
        labels = {"labels": list(self.labels)} if self.labels else {}
        own = {"num_labels": self.num_outputs, **labels, **kind}
        return {**super().model_arguments(), **own}

    def objective(self):
        return TextObjective(self)

    def distances(self, logits, teacher, temperature):
        """Computes squared differences, which no temperature changes."""
        return tf.square(logits - teacher)[:, 0]

    def score(self, prepared, outputs):
        labels, predictions = prepared.tokens.labels, self.predictions(outputs)
        scores = {name: METRICS[name](labels, predictions) for name in self.metrics}
        return {**scores, "loss": self.mean_loss(labels, outputs)}

    def write_scored(self, output_dir, name, prepared, outputs):
        path = output_dir / f"{name}_errors.tsv"
        write_errors(path, self, prepared.examples, self.predictions(outputs))

    def write_predicted(self, output_dir, prefix, prepared, outputs, submission=None):
        """Writes the probabilities (or the value) of each row, and its prediction.

        The second file is as the GLUE server takes it.
        """
        rows, numbers = prepared.examples.rows, self.probabilities(outputs)
        lines = [[row, *values] for row, values in zip(rows, numbers, strict=True)]
        path = output_dir / f"{prefix}test_results.tsv"
        _write_lines(path, [["row", *self.output_names], *lines])
        labels = map(self.label_text, self.predictions(outputs))
        lines = [("index", "prediction"), *zip(rows, labels, strict=True)]
        for name in filter(None, (f"{prefix}submit_results", submission)):
            _write_lines(output_dir / f"{name}.tsv", lines)

    # What is served: a number, by the name of the output.

    def numbers(self, outputs):
        return {self.output_names[0]: outputs[:, 0]}  # [B, 1] -> [B]

    def meaning(self):
        return {self.output_names[0]: "the predicted value"}

    def outputs(self, numbers):
        return np.asarray(numbers[self.output_names[0]])[:, None]  # [B] -> [B, 1]

    def check_fits(self, directory, asked):
        super().check_fits(directory, asked)
        if self.pair not in (None, asked.pair):
            texts = ("single texts", "pairs of texts")
            raise UserError(
                f"{directory} takes {texts[self.pair]}, but the task {asked.name} has "
                f"{texts[asked.pair]}; name a model of that task or, for a custom "
                f"table, {'give' if self.pair else 'leave out'} --text_pair_column."
            )


def write_errors(path, task, table, predictions):
    """Writes the rows that `task` finds worth a look: row, label, prediction, texts."""
    columns = {"text": table.texts}
    if table.text_pairs is not None:
        columns["text_pair"] = table.text_pairs
    lines = [["row", "label", "prediction", *columns]]
    for i in task.worth_a_look(table.labels, predictions):
        labels = map(task.label_text, (table.labels[i], predictions[i]))
        texts = (texts[i] for texts in columns.values())
        fields = [str(table.rows[i]), *labels, *texts]
        lines.append([" ".join(field.split()) for field in fields])
    _write_lines(path, lines)


def _write_lines(path, lines):
    text = "".join("\t".join(map(str, fields)) + "\n" for fields in lines)
    write_atomically(path, text)
