"""Labels and weights from Python users.

A label is a name, the number of a label, or a list of these. Like Keras' `fit`,
training also takes weights, and a fraction of the examples to hold out.
"""

import collections.abc
import dataclasses
import math
import numbers

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.tables import checked_names
from albert_tf.tasks.tables import name_of
from albert_tf.tasks.tables import one_spelling
from albert_tf.tokenization.features import elements

BALANCED = "balanced"
"""The `class_weight` that gives all labels the same sum of weights."""


def list_of_labels(labels):
    """Converts labels to a list.

    Raises:
        UserError: the labels are a single str, or an unordered collection.
    """
    if isinstance(labels, str | bytes):
        raise UserError(f"labels must be a list, got {labels!r}.")
    return elements("labels", labels)


def given_names(names):
    """Validates label names, and strips white space around them.

    Args:
        names: a list of str or int, in id order.

    Returns:
        A tuple of str.

    Raises:
        UserError: a name is empty or has another type, or two are equal.
    """
    names = list_of_labels(names)
    found = list(_each(names, lambda name: name_of(by_name(name, None))))
    return checked_names("labels", found)


def label_names(task_type, values):
    """Lists the sorted names in labels; numbers are sorted numerically.

    Args:
        task_type: a `TextTask` class whose labels have names.
        values: a list; for each text a str or an int, or a list of these.

    Raises:
        UserError: a value is not a label, or there are fewer names than the task needs.
    """
    found = list(
        _each(values, lambda value: task_type.label_names(by_name(value, None)))
    )
    if found and all(sorted(names) == ["0", "1"] for names in found):
        raise UserError(
            "labels are vectors of 0 and 1; give the names that apply to each text."
        )
    names = one_spelling(name for names in found for name in names)
    if all(name.isdecimal() for name in names):
        names = tuple(sorted(names, key=int))
    return checked_names("labels", names, task_type.fewest_labels)


def label_array(task, values):
    """Encodes labels for the objective of a `TextTask`.

    Args:
        task: the `TextTask`.
        values: for each text the name or number of a label, a list of these, or a
            number for regression.

    Returns:
        int32 or float32 `[N, …]`.

    Raises:
        UserError: a value is not a label of the task.
    """

    def parsed(value):
        return task.parse_label(by_name(value, task.labels) if task.labels else value)

    kind = np.int32 if task.labels else np.float32
    return np.array(list(_each(values, parsed)), kind)


def label_counts(task, labels):
    """Counts the rows of each label, int `[labels]`; `[0]` for regression.

    Args:
        task: the `TextTask`.
        labels: the array that `label_array` returns.
    """
    if not task.labels:
        return np.zeros(0, int)
    if labels.ndim == 2:
        return labels.sum(axis=0)
    return np.bincount(labels, minlength=len(task.labels))


def _each(labels, parse):
    for place, value in enumerate(labels):
        try:
            yield parse(value)
        except (TypeError, ValueError) as error:
            raise UserError(f"labels[{place}]: {error}.") from error


def by_name(value, names):
    """Returns the label name for a str or an int, or a list of names for a list.

    `names` are in id order; None if numbers are names themselves.
    """
    if isinstance(value, list | tuple | set | np.ndarray):
        value = list(value)
        # This looks like a 0 or 1 per label; with two labels, [0, 1] is ambiguous.
        is_vector = names and len(value) == len(names) and {*value} == {0, 1}
        if is_vector or len(set(map(str, value))) < len(value):
            raise ValueError(
                f"give each label that applies once, not {value!r}; for a vector of 0 "
                "and 1 give the names that it means"
            )
        return [by_name(item, names) for item in value]
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ValueError(f"expected the name of a label or its number, got {value!r}")
    if names is None or str(value) in names:
        return str(value)
    if not 0 <= value < len(names):
        raise ValueError(f"there is no label {value}; the model has {len(names)}")
    return names[value]


def training_and_held_out(
    task, examples, validation_split=0.0, sample_weight=None, class_weight=None
):
    """Adds weights to examples, and splits them into training and held-out examples.

    Args:
        task: a `TextTask`.
        examples: labelled `TokenizedExamples`.
        validation_split: the fraction to hold out, from the end; 0 for none.
        sample_weight: the loss weight of each example.
        class_weight: dict of weights by the name or number of a label, by default 1; or
            "balanced", see `balanced_weights`. As in Keras, class weights apply to
            training only.

    Returns:
        Two `TokenizedExamples`; the second is None if nothing is held out.

    Raises:
        UserError: one side of the split is empty, or weights are negative, not finite,
            or do not match the examples.
    """
    count = len(examples)
    kept = math.floor(count * (1 - validation_split))
    if validation_split and not 0 < kept < count:
        raise UserError(
            f"validation_split={validation_split!r} of {count} texts leaves none to "
            "learn from or none to evaluate on; expected a share between 0 and 1."
        )
    weights, held_out = None, None
    if sample_weight is not None:
        weights = _weights("sample_weight", elements("sample_weight", sample_weight))
        if len(weights) != count:
            raise UserError(f"sample_weight has {len(weights)} for {count} texts.")
    if kept < count:
        held_out = dataclasses.replace(examples, weights=weights)
        held_out = held_out.take(np.arange(kept, count))
    if class_weight is not None:
        labels = examples.labels
        of_texts = _weights_of_labels(task, class_weight, labels[:kept])[labels]
        weights = of_texts if weights is None else weights * of_texts
    weighted = dataclasses.replace(examples, weights=weights)
    return weighted.take(np.arange(kept)), held_out


def balanced_weights(task, labels):
    """Computes the weight of each label that gives all labels the same sum of weights.

    It is rows / (labels * rows of the label), as in scikit-learn; 1 for a label
    without rows, which does not count.

    Args:
        task: the `TextTask`.
        labels: int32 `[rows]`.

    Returns:
        float32 `[labels]`.

    Raises:
        UserError: texts do not have one label each.
    """
    return _weights_of_labels(task, BALANCED, labels)


def _weights_of_labels(task, class_weight, labels):
    if task.kind != "single_label":
        raise UserError(
            "class_weight is of texts that have one label each; give sample_weight, a "
            "number for each text."
        )
    if class_weight == BALANCED:
        counts = label_counts(task, labels)
        shares = counts * np.count_nonzero(counts) / len(labels)
        return np.float32(1 / np.where(counts, shares, 1))
    if not isinstance(class_weight, collections.abc.Mapping):
        raise UserError(
            f"class_weight={class_weight!r}: expected {BALANCED!r}, or a dict of "
            "weights by label."
        )
    ids = [task.label_id(by_name(name, task.labels)) for name in class_weight]
    weights = np.ones(len(task.labels), np.float32)
    weights[ids] = _weights("class_weight", [*class_weight.values()])
    return weights


def _weights(name, values):
    weights = np.array(values, np.float32)
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise UserError(f"{name} must be numbers of 0 or more, got {values!r}.")
    return weights
