"""Tasks on a text or a pair: one label of several, any number of them, or a number."""

import dataclasses

import numpy as np
import tensorflow as tf

from albert_tf.display.plots import HELD_OUT_SHARES
from albert_tf.display.plots import write_plot
from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.models.labels import LABEL_KINDS
from albert_tf.objectives.distillation import sigmoid_distances
from albert_tf.objectives.texts import OneLabel
from albert_tf.objectives.texts import TextObjective
from albert_tf.tasks import metrics
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.metrics import METRICS
from albert_tf.tasks.served_answers import EXIT_LAYER
from albert_tf.tasks.served_answers import log_shares
from albert_tf.tasks.tables import label_key
from albert_tf.tasks.tables import listed
from albert_tf.tasks.tables import name_of
from albert_tf.tasks.tables import number_of
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.task import Task
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.in_graph.windows import TextWindows
from albert_tf.tokenization.in_graph.windows import pooled_windows

_INCHES_A_LABEL = 0.6
_LARGEST_INCHES = 24
# With more labels than this, numbers in the cells would be illegible.
_MOST_NUMBERS = 30
LOGITS = "logits"
"""Name of the served output of a window."""
LABEL_SEPARATOR = "|"
"""Separator of labels in a row of a TSV or CSV."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTask(LongTexts, Task):
    """A table of texts or pairs with a label per row, and a linear head on [CLS].

    Labels are numbers unless a subclass defines them otherwise.

    Attributes:
        labels: label names in id order; empty if labels are numbers.
        pair: whether the input is a pair of texts; None if unknown, for a model that
            another program trained.
        thresholds: of several labels, the probability above which each applies; empty
            for 0.5.
        long_texts, doc_stride, window_pooling: see `LongTexts`.
    """

    labels: tuple = ()
    pair: bool | None = False
    thresholds: tuple = ()

    purpose = "text_classification"
    serves = "regression"
    has_accuracy = False
    also_scored = ("loss",)
    row_settings = ("long_texts", "doc_stride")
    fewest_labels = 0
    """Minimum number of label names; 0 for a task without names."""

    def __post_init__(self):
        self.check_long_texts()
        for name in ("labels", "metrics"):
            values = getattr(self, name)
            strings = isinstance(values, list | tuple) and all(
                isinstance(value, str) for value in values
            )
            if not strings:
                raise ValueError(f"{name} is {values!r}, expected a list of strings")
            object.__setattr__(self, name, tuple(values))
        if not _are_thresholds(self.thresholds, self.labels):
            raise ValueError(
                f"thresholds is {self.thresholds!r}, expected a share for each label"
            )
        object.__setattr__(self, "thresholds", tuple(self.thresholds))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"labels repeats a name: {', '.join(self.labels)}")
        if self.pair is not None and type(self.pair) is not bool:
            raise ValueError(f"pair is {self.pair!r}, expected true, false or null")
        metrics = self.metrics or self.default_metrics
        unknown = set(metrics) - {*METRICS, *self.default_metrics}
        if unknown:
            raise ValueError(f"metrics has unknown names: {', '.join(sorted(unknown))}")
        object.__setattr__(self, "metrics", metrics)

    @classmethod
    def told(cls, head):
        labels = head.get("labels")
        if cls.kind != head.get("label_kind", "single_label" if labels else None):
            return None
        # The head does not tell whether the model was trained on pairs of texts.
        return {"name": "custom", "pair": None, "labels": list(labels or ())}

    @property
    def text_inputs(self):
        return ("text", "text_pair") if self.pair else ("text",)

    @property
    def optional_inputs(self):
        takes_pairs = self.pair is None and not self.in_windows
        return ("text_pair",) if takes_pairs else ()

    @property
    def reads_whole(self):
        return "text" if self.in_windows else None

    @property
    def output_names(self):
        """Names of the model's outputs; the columns of `probabilities`."""
        return self.labels or ("score",)

    @property
    def num_outputs(self):
        """Width of the head."""
        return len(self.output_names)

    def label_dtype(self, axes):
        """Returns the label dtype that `losses` takes."""
        return tf.int32 if self.labels else tf.float32

    def parse_label(self, value):
        """Parses a raw value of a table to a label for the objective.

        Raises:
            ValueError: the value is not a label of the task; the message says why.
        """
        return number_of(value)

    def label_id(self, name):
        """Returns the id of a label name in any spelling.

        Ignores white space around the name, and differences that `label_key` ignores.

        Raises:
            ValueError: there is no such label; the message shows the first few labels.
        """
        if name in self.labels:  # two labels may differ in white space only
            return self.labels.index(name)
        keys, key = [label_key(label) for label in self.labels], label_key(name)
        if key not in keys:
            known = shortened(list(map(repr, self.labels)))
            raise ValueError(f"the label {name!r} is unknown (expected {known})")
        return keys.index(key)

    def losses(self, logits, labels):
        """Computes each row's loss, float32 `[B]`, from float32 outputs `[B, …]`."""
        raise NotImplementedError

    def right(self, logits, labels):
        """Returns float32 `[B]`: 1 for correct rows; only if `has_accuracy`."""
        raise NotImplementedError

    def predictions(self, logits):
        """Computes predicted labels from `[N, outputs]` logits."""
        return logits[:, 0]

    def probabilities(self, logits):
        """Computes the numbers in result files from `[N, outputs]` logits."""
        return logits

    @staticmethod
    def sigmoid(logits):
        """Computes the probability of each logit by itself."""
        with np.errstate(over="ignore"):  # which gives 0
            return 1.0 / (1.0 + np.exp(-logits))

    def mean_loss(self, labels, logits):
        """Computes the training loss without dropout, a float."""
        return float(np.mean(self.losses(logits, labels)))

    def worth_a_look(self, labels, predictions):
        """Returns the indices of the rows to show in `<split>_errors.tsv`.

        These are all rows, largest error first: few numbers are predicted exactly.
        """
        return np.argsort(-np.abs(labels - predictions), kind="stable")

    def label_text(self, label):
        """Returns the text of one label or prediction in result files."""
        return f"{label:.3f}"

    def answer_columns(self, answer):
        """Formats a result of `answer` as a list of strings, one per column."""
        return [f"{value:.4f}" for value in answer.values()]

    def read(self, path, columns, role="dev", skip_bad_rows=False):
        """Reads the `Table` of a file; see `read_table`."""
        return read_table(path, columns, self.parse_label, skip_bad_rows, role)

    def tokenize(self, examples, tokenizer, max_seq_length):
        texts = examples.texts, examples.text_pairs
        return tokenize_texts(*texts, tokenizer, max_seq_length, long_texts=self)

    def model_arguments(self):
        kind = {"label_kind": self.kind} if self.kind in LABEL_KINDS else {}
        labels = {"labels": list(self.labels)} if self.labels else {}
        own = {"num_labels": self.num_outputs, **labels, **kind}
        pooling = self.window_pooling if self.in_windows else None
        return {**super().model_arguments(), **own, "window_pooling": pooling}

    def objective(self):
        return TextObjective(self)

    def distances(self, logits, teacher, temperature):
        """Computes squared differences, whatever the temperature."""
        return tf.square(logits - teacher)[:, 0]

    def score(self, prepared, outputs):
        labels = prepared.tokens.labels
        scores = metrics.task_scores(self, labels, outputs)
        return {**scores, "loss": self.mean_loss(labels, outputs)}

    def write_scored(self, output_dir, name, prepared, outputs):
        path = output_dir / f"{name}_errors.tsv"
        write_errors(path, self, prepared.examples, self.predictions(outputs))

    def write_predicted(self, output_dir, prefix, prepared, outputs):
        """Writes the probabilities (or the value) of each row, and its prediction.

        The second file has the format of the GLUE server.
        """
        rows, numbers = prepared.examples.rows, self.probabilities(outputs)
        lines = [[row, *values] for row, values in zip(rows, numbers, strict=True)]
        path = output_dir / f"{prefix}test_results.tsv"
        _write_lines(path, [["row", *self.output_names], *lines])
        labels = map(self.label_text, self.predictions(outputs))
        lines = [("index", "prediction"), *zip(rows, labels, strict=True)]
        names = (f"{prefix}submit_results", prepared.examples.submission)
        for name in filter(None, names):
            _write_lines(output_dir / f"{name}.tsv", lines)

    def as_applied(self, trained):
        return dataclasses.replace(self, thresholds=trained.thresholds)

    def to_dict(self):
        fields = self.with_settings(super().to_dict())
        if not self.thresholds:
            del fields["thresholds"]
        return fields

    # Served outputs: a number by the name of the output; of a window its logits.

    def text_features(self, tokenizer, max_seq_length):
        if self.in_windows:
            return TextWindows(tokenizer, max_seq_length, self.stride)
        return TextFeatures(tokenizer, max_seq_length, head_tail=self.head_tail)

    def compute(self, model, features, exit_rule=None):
        if self.in_windows:
            return {LOGITS: model(features, training=False)}
        return super().compute(model, features, exit_rule)

    def string_answers(self, text_features, compute):
        if not self.in_windows:
            return super().string_answers(text_features, compute)

        def answer(text):
            features, owners = text_features.windows(text)
            logits = compute(features)[LOGITS]
            texts = tf.size(text, tf.int64)
            pooled = pooled_windows(logits, owners, texts, self.window_pooling)
            return self.answers(self.numbers(pooled), features)

        return answer

    def numbers(self, outputs):
        (name,) = self.output_names
        return {name: outputs[:, 0]}  # [B, 1] -> [B]

    def meaning(self):
        (name,) = self.output_names
        return {name: "the predicted value", **self.of_window()}

    def of_window(self):
        """Describes the output of a window, which a client pools; {} without them."""
        if not self.in_windows:
            return {}
        pooled = f"the {self.window_pooling} of those of all windows of a text counts"
        return {LOGITS: f"logits of one window: {pooled}"}

    def outputs(self, numbers):
        (name,) = self.output_names
        return np.asarray(numbers[name])[:, None]  # [B] -> [B, 1]

    def check_fits(self, directory, asked):
        super().check_fits(directory, asked)
        if self.pair not in (None, asked.pair):
            texts = ("single texts", "pairs of texts")
            raise UserError(
                f"{directory} takes {texts[self.pair]}, but the task {asked.name} has "
                f"{texts[asked.pair]}; name a model of that task or, for a custom "
                f"table, {'give' if self.pair else 'leave out'} --text_pair_column."
            )


class Labelled(TextTask):
    """Base class for tasks with label names; serves the probability of each label."""

    serves = "classification"
    also_scored = ("macro_f1", "auc", "calibration_error", "loss")

    def score(self, prepared, outputs):
        labels, outputs = prepared.tokens.labels, np.float64(outputs)
        shares = self.probabilities(outputs)
        return {
            "macro_f1": metrics.macro_f1(labels, self.predictions(outputs)),
            "auc": metrics.auc(labels, shares),
            "calibration_error": metrics.calibration_error(labels, shares),
            **super().score(prepared, outputs),
        }

    def confusion(self, labels, predictions):
        """Returns the confusion matrix or matrices, and the scores of each label.

        The matrix is int `[labels, labels]`, rows are labels, columns predictions; or
        `[labels, 2, 2]`, whether a row has the label and whether that was predicted.
        """
        raise NotImplementedError

    def write_scored(self, output_dir, name, prepared, outputs):
        """Writes as `Task.write_scored`, with the scores of each label as JSON."""
        super().write_scored(output_dir, name, prepared, outputs)
        predictions = self.predictions(outputs)
        confusion, scores = self.confusion(prepared.tokens.labels, predictions)
        report = {
            "labels": self.labels,
            "confusion": confusion.tolist(),
            "classes": dict(zip(self.labels, scores, strict=True)),
        }
        write_json(output_dir / f"{name}_class_scores.json", report)

    def answers(self, numbers, features):
        if LOGITS in numbers:  # of single windows
            return numbers
        return {**numbers, **self.named(numbers["probabilities"])}

    def named(self, shares):
        """Returns the served names of labels from probabilities `[batch, labels]`."""
        raise NotImplementedError

    def meaning(self):
        order = ", ".join(self.labels)
        shares = f"probability of each label, in the order {order}"
        return {"probabilities": shares, **self.of_window()}

    def answer(self, outputs):
        """Returns a float for each label, and the layers used by early exit."""
        shares = map(float, outputs["probabilities"])
        by_name = dict(zip(self.labels, shares, strict=True))
        early = {name: outputs[name] for name in outputs if name == EXIT_LAYER}
        return {"probabilities": by_name, **early}


class SingleLabel(OneLabel, Labelled):
    """Cross-entropy over the labels; official `classifier_utils.py`."""

    kind = "single_label"
    default_metrics = ("accuracy", "macro_f1")
    fewest_labels = 2

    def parse_label(self, value):
        if value in self.labels:  # unchanged, with white space around it
            return self.labels.index(value)
        return self.label_id(*self.label_names(value))

    @classmethod
    def label_names(cls, value):
        value = listed(value)
        if isinstance(value, list):
            if len(value) != 1:
                raise ValueError(f"the label {value!r} is a list; expected one name")
            value = value[0]
        name = name_of(value)
        if not name:
            raise ValueError("the label is empty")
        return [name]

    def predictions(self, logits):
        return logits.argmax(axis=-1).astype(np.int32)

    def probabilities(self, logits):
        return metrics.softmax(logits)

    def mean_loss(self, labels, logits):
        return metrics.cross_entropy(labels, logits)

    def score(self, prepared, outputs):
        """Computes the scores of `Task.score`, plus `majority_accuracy`."""
        labels = prepared.tokens.labels
        majority = float(np.bincount(labels).max() / len(labels))
        return {**super().score(prepared, outputs), "majority_accuracy": majority}

    def worth_a_look(self, labels, predictions):
        return np.flatnonzero(labels != predictions)

    def confusion(self, labels, predictions):
        confusion = metrics.confusion_matrix(labels, predictions, self.num_outputs)
        return confusion, metrics.per_class(confusion)

    def write_scored(self, output_dir, name, prepared, outputs):
        super().write_scored(output_dir, name, prepared, outputs)
        labels, predictions = prepared.tokens.labels, self.predictions(outputs)
        confusion, _ = self.confusion(labels, predictions)
        picture = output_dir / f"{name}_confusion.png"
        write_confusion_plot(picture, self.labels, confusion)

    def label_text(self, label):
        return self.labels[label]

    def answer_columns(self, answer):
        label = answer["label"]
        return [label, f"{answer['probabilities'][label]:.4f}"]

    def numbers(self, outputs):
        return {"probabilities": tf.nn.softmax(outputs)}

    def named(self, shares):
        best = tf.argmax(shares, axis=-1)
        return {"label": tf.gather(tf.constant(self.labels), best)}

    def meaning(self):
        return {**super().meaning(), "label": "the most probable label"}

    def answer(self, outputs):
        return {"label": outputs["label"], **super().answer(outputs)}

    def outputs(self, numbers):
        return log_shares(numbers["probabilities"])


class MultiLabel(Labelled):
    """Mean binary cross-entropy over the labels."""

    kind = "multi_label"
    has_accuracy = True
    default_metrics = ("f1", "accuracy")
    fewest_labels = 1

    def parse_label(self, value):
        value = listed(value)
        if is_vector(value, self.labels):
            return np.array(value, np.int32)
        vector = np.zeros(len(self.labels), np.int32)
        vector[[self.label_id(name) for name in self.label_names(value)]] = 1
        return vector

    @classmethod
    def label_names(cls, value):
        """Parses the names in a list, or in a text like `"a|b"` or `'["a", "b"]'`."""
        value = listed(value)
        if isinstance(value, str):
            value = value.split(LABEL_SEPARATOR)
        try:
            value = value if isinstance(value, list) else [value]
            names = list(filter(None, map(name_of, value)))
        except ValueError as error:
            raise ValueError(f"{error}; {value!r} is not a list of names") from error
        if len(set(map(label_key, names))) < len(names):
            raise ValueError(
                f"the label {value!r} repeats a name; give each that applies once, or "
                "name those that a vector of 0 and 1 stands for with --labels"
            )
        return names

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
        if self.thresholds:
            return (self.probabilities(logits) > self.thresholds).astype(np.int32)
        return (logits > 0).astype(np.int32)

    def probabilities(self, logits):
        return self.sigmoid(logits)

    def mean_loss(self, labels, logits):
        logits = logits.astype(np.float64)
        return float(np.mean(np.logaddexp(0.0, logits) - logits * labels))

    def worth_a_look(self, labels, predictions):
        return np.flatnonzero((labels != predictions).any(axis=1))  # [N, L] -> [N]

    def confusion(self, labels, predictions):
        matrices = [
            metrics.confusion_matrix(true, predicted, 2)
            for true, predicted in zip(
                labels.T.astype(int), predictions.T.astype(int), strict=True
            )
        ]
        return np.stack(matrices), [metrics.per_class(own)[1] for own in matrices]

    def label_text(self, label):
        return LABEL_SEPARATOR.join(self.labels[i] for i in np.flatnonzero(label))

    def answer_columns(self, answer):
        return [LABEL_SEPARATOR.join(answer["labels"])]

    def numbers(self, outputs):
        return {"probabilities": tf.sigmoid(outputs)}

    def named(self, shares):
        applies = shares > (self.thresholds or 0.5)
        return {"labels": tf.where(applies, tf.constant(self.labels), "")}

    def meaning(self):
        labels = "the labels that apply, in that order; others are empty"
        if self.thresholds:
            shares = ", ".join(f"{share:.3g}" for share in self.thresholds)
            labels += f"; each applies above its own threshold: {shares}"
        return {**super().meaning(), "labels": labels}

    def answer(self, outputs):
        labels = [name for name in outputs["labels"] if name]
        return {"labels": labels, **super().answer(outputs)}

    def outputs(self, numbers):
        edge = np.finfo(np.float32).eps
        shares = np.clip(np.asarray(numbers["probabilities"]), edge, 1 - edge)
        return np.log(shares) - np.log1p(-shares)


def _are_thresholds(values, labels):
    """Returns whether values are no thresholds at all, or a share for each label."""
    return not values or (
        isinstance(values, list | tuple)
        and len(values) == len(labels)
        and all(type(value) is float and 0 <= value < 1 for value in values)
    )


def is_vector(value, labels):
    """Returns whether a value has a 0 or 1 per label, and is not a list of labels."""
    return (
        isinstance(value, list)
        and len(value) == len(labels)
        and all(isinstance(one, int | float) and one in (0, 1) for one in value)
        and (len(set(value)) < len(value) or not {"0", "1"} & {*labels})
    )


class Regression(TextTask):
    """Squared error; official `classifier_utils.py`."""

    kind = "regression"
    default_metrics = ("pearson", "spearman", "MSE")

    @classmethod
    def told(cls, head):
        # No task has several numbers per row.
        return super().told(head) if head.get("num_labels", 1) == 1 else None

    def losses(self, logits, labels):
        return tf.square(logits[:, 0] - tf.cast(labels, tf.float32))

    def mean_loss(self, labels, logits):
        return metrics.mean_squared_error(labels, logits.astype(np.float64)[:, 0])


def write_errors(path, task, table, predictions):
    """Writes the rows of `task.worth_a_look`: row, label, prediction, texts."""
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


def write_confusion_plot(path, labels, confusion):
    """Plots counts as a PNG; the color is the fraction of the row's label.

    `confusion` is int `[labels, labels]`; rows are labels, columns are predictions.
    Returns whether the file was written; see `write_plot`.
    """
    shares = confusion / confusion.sum(axis=1, keepdims=True).clip(min=1)

    def draw(figure, names):
        axes = figure.add_subplot()
        image = axes.imshow(shares, cmap=HELD_OUT_SHARES, vmin=0.0, vmax=1.0)
        figure.colorbar(image, label="share of the label")
        places, plain = range(len(labels)), {"parse_math": False}  # keeps "$" literal
        axes.set_xticks(places, names, rotation=45, ha="right", **plain)
        axes.set_yticks(places, names, **plain)
        axes.set_xlabel("prediction")
        axes.set_ylabel("label")
        if len(labels) > _MOST_NUMBERS:
            return
        for row, column in zip(*confusion.nonzero(), strict=True):
            colour = "white" if shares[row, column] > 0.5 else "black"
            count = f"{confusion[row, column]:,}"
            axes.text(column, row, count, color=colour, ha="center", va="center")

    side = min(3 + _INCHES_A_LABEL * len(labels), _LARGEST_INCHES)
    return write_plot(path, draw, (side + 1, side), labels)
