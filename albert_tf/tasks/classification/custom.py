"""Any folder with tables of one's own: train, dev and test as TSV, CSV or JSONL."""

from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.table_rows import SUFFIXES
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.registry import task_class
from albert_tf.tasks.source import Source
from albert_tf.tasks.source import Split
from albert_tf.tasks.source import file_of_role
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import discover_labels
from albert_tf.tasks.tables import has_labels


def custom_source(
    data_dir, columns, kind, labels=(), skip_bad_rows=False, required=("train", "dev")
):
    """The `Source` of `train.*`, `dev.*` and, if there is one, `test.*` in a folder.

    Args:
        data_dir: folder of the tables; each has one of `SUFFIXES`.
        columns: `Columns` by header name.
        kind: a kind of classification in `registry.TASKS`.
        labels: label names in id order; if empty, those of the training table, sorted,
            which is then required.
        skip_bad_rows: leave bad rows out and count them.
        required: tables that must be there.

    Raises:
        UserError: a required table is missing, there are two for a role, `labels` has
            an empty or repeated name, or there are fewer than two labels; without
            `labels`, a bad row of the training table, too.
    """
    roles = ("train", "dev", "test")
    paths = {role: file_of_role(data_dir, role, SUFFIXES) for role in roles}
    for role in required:
        if paths[role] is None:
            meant = did_you_mean(data_dir) or "; name the folder of the tables."
            raise UserError(
                f"--data_dir={data_dir} has no {role}.tsv, {role}.csv or {role}.jsonl"
                f"{meant}"
            )
    train, dev, test = paths.values()
    asked = task_class(kind)
    if asked.fewest_labels:
        labels = _labels(train, columns, asked, tuple(labels), skip_bad_rows)
    elif labels:
        raise UserError(f"--label_kind={kind} has no labels; leave out --labels.")
    pair = columns.text_pair is not None
    return Source(
        task=create_task(kind, "custom", labels=labels, pair=pair),
        train=Split(train, columns) if train else None,
        dev={"dev": Split(dev, columns)} if dev else {},
        test={"test": _test_split(test, columns)} if test else {},
        skip_bad_rows=skip_bad_rows,
    )


def _labels(train, columns, asked, given, skip_bad_rows):
    """The label names: the given ones, else those of the training table."""
    repeated = [name for name in given if given.count(name) > 1]
    if repeated or "" in given:
        problem = f"repeats {repeated[0]!r}" if repeated else "has an empty name"
        raise UserError(
            f"--labels={','.join(given)} {problem}; give each label once, separated "
            "by commas."
        )
    labels = given or discover_labels(train, columns, asked.label_names, skip_bad_rows)
    least = asked.fewest_labels
    if len(labels) < least:
        where = "--labels" if given else f"The column {columns.label!r} of {train}"
        raise UserError(
            f"{where} has {len(labels)} label(s); expected at least {least}."
        )
    return labels


def _test_split(path, columns):
    """A test table may be labelled; then it is scored, too."""
    if has_labels(path, columns.label):
        return Split(path, columns)
    return Split(path, Columns(columns.text, columns.text_pair), is_labelled=False)
