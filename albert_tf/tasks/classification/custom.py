"""Custom data: a folder with train, dev and test tables, or a table to split."""

import dataclasses

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.table_rows import SUFFIXES
from albert_tf.tasks.classification.labels import label_counts
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.examples import ROLES
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.splitting import find_table
from albert_tf.tasks.splitting import split_table
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import checked_names
from albert_tf.tasks.tables import discover_labels
from albert_tf.tasks.tables import has_labels


def custom_examples(
    data_dir,
    columns,
    kind,
    labels=(),
    skip_bad_rows=False,
    roles=ROLES,
    required=("train", "dev"),
    unlabelled=True,
):
    """Reads `train.*`, `dev.*` and `test.*` in a folder, and makes their task.

    Args:
        data_dir: folder of the tables; each has one of `SUFFIXES`.
        columns: `Columns` by header name.
        kind: the kind of a `TextTask`.
        labels: label names in id order; by default the sorted labels of the training
            table, which is then required.
        skip_bad_rows: skip and count bad rows.
        roles, required: the roles to read if their table exists; the roles that must
            have a table.
        unlabelled: whether to read a test table without labels.

    Returns:
        (task, examples): a `TextTask`, and a dict of `Table` by role.

    Raises:
        UserError: a required table is missing, there are two for a role, `labels` has
            an empty or repeated name, or there are fewer than two labels; a bad row.
    """
    paths = files_by_role(data_dir, SUFFIXES, required, SUFFIXES[:3])
    task = _task(paths.get("train"), columns, kind, labels, skip_bad_rows)
    examples = {}
    for role, path in paths.items():
        own = columns
        if role == "test" and not has_labels(path, columns.label):
            own = Columns(columns.text, columns.text_pair)
        if role in roles and (unlabelled or own.label is not None):
            examples[role] = task.read(path, own, role, skip_bad_rows)
    return task, examples


def split_examples(flags, columns, kind, labels=(), skip_bad_rows=False, roles=ROLES):
    """Reads a table, makes its task, and splits it; see `split_table`.

    Args:
        flags: `SplitFlags`.
        columns, kind, labels, skip_bad_rows: see `custom_examples`.
        roles: the roles to return.

    Returns:
        (task, examples), as `custom_examples` does.

    Raises:
        UserError: see `find_table`, `custom_examples` and `split_table`.
    """
    path = find_table(flags.data_file)
    columns = dataclasses.replace(columns, group=flags.group_column)
    task = _task(path, columns, kind, labels, skip_bad_rows)
    table = task.read(path, columns, "train", skip_bad_rows)
    parts = split_table(table, flags)
    _tell_of_rare_labels(task, table.path, parts)
    return task, {role: own for role, own in parts.items() if role in roles}


def _tell_of_rare_labels(task, path, parts):
    """Warns of labels whose rows are too few to be in every part."""
    counts = {role: label_counts(task, own.labels) for role, own in parts.items()}
    total = sum(counts.values())
    for role, own in counts.items():
        lacking = np.flatnonzero((own == 0) & (total > 0))
        if len(lacking):
            names = [f"{task.labels[i]!r} ({total[i]} row(s))" for i in lacking]
            logging.warning(
                "%s: too few rows for %s to have one of the label %s; no score there "
                "shows how well it is learned.",
                path,
                role,
                shortened(names),
            )


def _task(path, columns, kind, labels, skip_bad_rows):
    """Makes the task of a training table, which is only read without `labels`."""
    asked = TextTask.kinds[kind]
    if asked.fewest_labels:
        source = f"--labels={','.join(labels)}"
        if not labels:
            source = f"The column {columns.label!r} of {path}"
            labels = discover_labels(path, columns, asked.label_names, skip_bad_rows)
        labels = checked_names(source, labels, asked.fewest_labels)
    elif labels:
        raise UserError(f"--label_kind={kind} has no labels; leave out --labels.")
    pair = columns.text_pair is not None
    return create_task(kind, "custom", labels=labels, pair=pair)
