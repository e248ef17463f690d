"""What a text classification or regression task asks for, apart from its files."""

import dataclasses

import numpy as np

from albert_tf.errors import UserError

SINGLE_LABEL, MULTI_LABEL, REGRESSION = "single_label", "multi_label", "regression"
KINDS = (SINGLE_LABEL, MULTI_LABEL, REGRESSION)
_LARGEST = float(np.finfo(np.float32).max)
LABEL_SEPARATOR = "|"  # between the labels of one row of a multi-label TSV or CSV

_METRICS = {
    SINGLE_LABEL: ("accuracy", "macro_f1"),
    MULTI_LABEL: ("f1", "accuracy"),
    REGRESSION: ("pearson", "spearman", "MSE"),
}


@dataclasses.dataclass(frozen=True)
class TextTask:
    """A task whose input is a text, or a pair of texts.

    It is stored in a fine-tuned model's `training_info.json` under `"task"`, where
    prediction and export find it again.

    Attributes:
        name: name of the task, as given by `--task_name`.
        kind: `"single_label"`, `"multi_label"` or `"regression"`.
        labels: label names in id order; empty for regression.
        pair: whether the input is a pair of texts.
        metrics: names from `metrics.METRICS`; the first one picks the best checkpoint.
    """

    name: str
    kind: str
    labels: tuple = ()
    pair: bool = False
    metrics: tuple = ()

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}, expected one of {KINDS}")
        object.__setattr__(self, "labels", tuple(self.labels))
        metrics = tuple(self.metrics) or _METRICS[self.kind]
        object.__setattr__(self, "metrics", metrics)

    @property
    def num_outputs(self):
        """Width of the classification head: one a label, one for regression."""
        return 1 if self.kind == REGRESSION else len(self.labels)

    def parse_label(self, value):
        """Label id, 0/1 vector or float of a raw value read from a table.

        Raises:
            ValueError: the value is no label of the task; the message says why.
        """
        if self.kind == REGRESSION:
            return self._parse_number(value)
        if self.kind == MULTI_LABEL:
            vector = np.zeros(len(self.labels), np.int32)
            vector[[self._label_id(name) for name in _split_labels(value)]] = 1
            return vector
        return self._label_id(value)

    def predictions(self, logits):
        """What is predicted for `[N, num_outputs]` logits, in the form of labels."""
        if self.kind == REGRESSION:
            return logits[:, 0]
        if self.kind == MULTI_LABEL:
            return (logits > 0).astype(np.int32)
        return logits.argmax(axis=-1).astype(np.int32)

    def label_text(self, prediction):
        """The spelling in result files of one prediction (or label)."""
        if self.kind == REGRESSION:
            return f"{prediction:.3f}"
        if self.kind == MULTI_LABEL:
            names = [self.labels[i] for i in np.flatnonzero(prediction)]
            return LABEL_SEPARATOR.join(names)
        return self.labels[prediction]

    def to_dict(self):
        """JSON form, read back by `from_training_info`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_training_info(cls, info, directory):
        """The task of a model directory's training info, None if it holds no task.

        Raises:
            UserError: the task is none that this version knows.
        """
        if "task" not in info:
            return None
        try:
            return cls(**info["task"])
        except (TypeError, ValueError) as error:
            raise UserError(
                f"The task in {directory}'s training info, {info['task']!r}, is none "
                f"that this version of albert_tf knows ({error}); fine-tune with it."
            ) from error

    def _label_id(self, name):
        if name not in self.labels:
            known = ", ".join(map(repr, self.labels[:8]))
            more = ", …" if len(self.labels) > 8 else ""
            raise ValueError(f"the label {name!r} is unknown (expected {known}{more})")
        return self.labels.index(name)

    def _parse_number(self, value):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not np.isfinite(number):
            raise ValueError(f"the label {value!r} is not a number")
        if abs(number) > _LARGEST:
            raise ValueError(f"the label {value!r} is too large for float32")
        return number


def label_names(value, kind):
    """The label names in a raw value of a single-label or multi-label table.

    Raises:
        ValueError: the value holds no name; the message says why.
    """
    if kind == MULTI_LABEL:
        return _split_labels(value)
    if isinstance(value, list):
        raise ValueError(f"the label {value!r} is a list, but one name was expected")
    if not value:
        raise ValueError("the label is empty")
    return [value]


def _split_labels(value):
    """Names in a multi-label value: a JSON list, or text such as `"a|b"`."""
    if not isinstance(value, list):
        return [name for name in value.split(LABEL_SEPARATOR) if name]
    for name in value:
        if name is None or isinstance(name, list | dict):
            raise ValueError(f"the label {value!r} is not a list of names")
    return [str(name) for name in value if name != ""]
