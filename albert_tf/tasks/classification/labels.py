"""Labels as Python users give them: names, their numbers, or lists of such."""

import numbers

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.tables import check_characters
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
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise UserError(f"labels repeats {repeated[0]!r}; give each label once.")
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
    found = set()
    for place, value in enumerate(values):
        try:
            names = task_type.label_names(by_name(value, None))
            for name in names:
                check_characters("label", name)
            found.update(names)
        except (TypeError, ValueError) as error:
            raise UserError(f"labels[{place}]: {error}.") from error
    key = int if all(name.isdecimal() for name in found) else None
    names = tuple(sorted(found, key=key))
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
    parsed = []
    for place, value in enumerate(values):
        try:
            value = by_name(value, task.labels) if task.labels else value
            parsed.append(task.parse_label(value))
        except (TypeError, ValueError) as error:
            raise UserError(f"labels[{place}]: {error}.") from error
    return np.array(parsed, np.int32 if task.labels else np.float32)


def by_name(value, names):
    """Returns the label's name for a name or a number; of several, each.

    Args:
        value: a str, an int, or a list of such.
        names: in id order; None where numbers are names themselves.
    """
    if isinstance(value, np.ndarray | tuple | set):
        value = sorted(value) if isinstance(value, set) else list(value)
    if isinstance(value, list):
        if len(set(map(str, value))) < len(value):  # a 0 or 1 for each label, it seems
            raise ValueError(f"give each label that applies once, not {value!r}")
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
