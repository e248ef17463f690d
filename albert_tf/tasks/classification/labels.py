"""Labels and weights as Python users give them.

Labels are names, their numbers, or lists of such. Beside them Keras' `fit` takes
weights, and a share that is held out.
"""

import dataclasses
import math
import numbers

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.tables import check_characters
from albert_tf.tasks.tables import one_spelling
from albert_tf.tasks.tables import repeated_name
from albert_tf.tasks.tables import trimmed
from albert_tf.tokenization.features import elements


def list_of_labels(labels):
    """Returns the labels as a list.

    Raises:
        UserError: they are no list of labels.
    """
    if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise UserError(
            f"labels must be a list with a label for each text, got {labels!r}."
        )
    return elements("labels", labels)


def given_names(names):
    """Returns the names given for labels, without the white space around them.

    Args:
        names: a list of str or int, in the order of the labels' ids.

    Returns:
        A tuple of str.

    Raises:
        UserError: they are no list of different names.
    """
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise UserError(f"labels must be a list of names, got {names!r}.")
    found = tuple(map(_name, elements("labels", names)))
    if repeated := repeated_name(found):
        raise UserError(f"labels repeats {repeated!r}; give each label once.")
    return found


def _name(value):
    try:
        name = trimmed(by_name(value, None))
        check_characters("label", name)
        if not name or isinstance(name, list):
            raise ValueError(f"expected the name of a label, got {value!r}")
    except ValueError as error:
        raise UserError(f"labels: {error}.") from error
    return name


def label_names(task_type, values):
    """Lists the names that occur in labels, sorted; numbers are sorted by their size.

    Args:
        task_type: a `TextTask` class whose labels have names.
        values: a list; of each text a str or an int, or a list of such.

    Raises:
        UserError: a value is no label, or there are fewer names than the task needs.
    """

    def names_in(value):
        names = task_type.label_names(by_name(value, None))
        for name in names:
            check_characters("label", name)
        return names

    found = list(_each(values, names_in))
    if found and all(sorted(names) == ["0", "1"] for names in found):
        raise UserError(
            "labels are vectors of 0 and 1; give the names that apply to each text."
        )
    names = one_spelling(name for names in found for name in names)
    if all(name.isdecimal() for name in names):
        names = tuple(sorted(names, key=int))
    if len(names) < task_type.fewest_labels:
        raise UserError(
            f"The labels are {', '.join(names) or 'none'}; expected at least "
            f"{task_type.fewest_labels} different ones."
        )
    return names


def label_array(task, values):
    """Encodes labels as the task's objective takes them, int32 or float32 `[N, …]`.

    Args:
        task: a `TextTask`.
        values: a list; of each text the name of a label or its number, a list of such,
            or a number for a task without labels.

    Raises:
        UserError: a value is no label of the task.
    """

    def parsed(value):
        return task.parse_label(by_name(value, task.labels) if task.labels else value)

    kind = np.int32 if task.labels else np.float32
    return np.array(list(_each(values, parsed)), kind)


def _each(labels, parse):
    for place, value in enumerate(labels):
        try:
            yield parse(value)
        except (TypeError, ValueError) as error:
            raise UserError(f"labels[{place}]: {error}.") from error


def by_name(value, names):
    """Returns the label's name for a name or a number; of several, each.

    Args:
        value: a str, an int, or a list of such.
        names: in id order; None where numbers are names themselves.
    """
    if isinstance(value, np.ndarray | tuple | set):
        value = sorted(value) if isinstance(value, set) else list(value)
    if isinstance(value, list):
        # A 0 or 1 for each label, it seems; of two labels also [0, 1].
        is_vector = names and len(value) == len(names) == 2 and {*value} == {0, 1}
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
    """Makes weighted examples: a part to learn from, a part to evaluate on, or None.

    Args:
        task: a `TextTask`.
        examples: labelled `TokenizedExamples`.
        validation_split: the share to evaluate on, the last ones; 0 for none.
        sample_weight: a number for each example, the weight of its loss.
        class_weight: a dict of numbers by the name or the number of a label; 1 for
            others. As in Keras, it counts in training only.

    Raises:
        UserError: the share leaves no example on one side, or the weights are no
            numbers of 0 or more, or do not fit.
    """
    weights, held_out, count = None, None, len(examples)
    if sample_weight is not None:
        weights = _sample_weights(sample_weight, count)
    if validation_split:
        count = _examples_before(validation_split, count)
        rows = np.arange(count, len(examples))
        held_out = dataclasses.replace(examples, weights=weights).take(rows)
    if class_weight is not None:
        of_texts = _weights_of_labels(task, class_weight)[examples.labels]
        weights = of_texts if weights is None else weights * of_texts
    weighted = dataclasses.replace(examples, weights=weights)
    return weighted.take(np.arange(count)), held_out


def _examples_before(share, count):
    kept = math.floor(count * (1 - share)) if 0 < share < 1 else 0
    if not kept:
        raise UserError(
            f"validation_split={share!r} of {count} texts leaves none to learn from or "
            "none to evaluate on; expected a share between 0 and 1."
        )
    return kept


def _sample_weights(values, count):
    weights = _weights("sample_weight", elements("sample_weight", values))
    if weights.shape != (count,):
        raise UserError(
            f"sample_weight must be a number for each of {count} texts, got the shape "
            f"{list(weights.shape)}."
        )
    return weights


def _weights_of_labels(task, class_weight):
    if task.kind != "single_label":
        raise UserError(
            "class_weight is of texts that have one label each; give sample_weight, a "
            "number for each text."
        )
    try:
        ids = [task.label_id(by_name(name, task.labels)) for name in class_weight]
        given = _weights("class_weight", [*class_weight.values()])
    except UserError:
        raise
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"class_weight={class_weight!r}: {error}.") from error
    weights = np.ones(len(task.labels), np.float32)
    weights[ids] = given
    return weights


def _weights(name, values):
    try:
        weights = np.array(values, np.float32)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} must be numbers, got {values!r}.") from error
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise UserError(f"{name} must be numbers of 0 or more, got {values!r}.")
    return weights
