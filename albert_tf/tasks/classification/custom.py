"""Custom data: a folder with train, dev and test tables as TSV, CSV or JSONL."""

from albert_tf.errors import UserError
from albert_tf.io.table_rows import SUFFIXES
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.examples import ROLES
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.registry import create_task
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
    asked = TextTask.kinds[kind]
    if asked.fewest_labels:
        source = f"--labels={','.join(labels)}"
        if not labels:
            source = f"The column {columns.label!r} of {paths['train']}"
            labels = discover_labels(
                paths["train"], columns, asked.label_names, skip_bad_rows
            )
        labels = checked_names(source, labels, asked.fewest_labels)
    elif labels:
        raise UserError(f"--label_kind={kind} has no labels; leave out --labels.")
    pair = columns.text_pair is not None
    task = create_task(kind, "custom", labels=labels, pair=pair)
    examples = {}
    for role, path in paths.items():
        own = columns
        if role == "test" and not has_labels(path, columns.label):
            own = Columns(columns.text, columns.text_pair)
        if role in roles and (unlabelled or own.label is not None):
            examples[role] = task.read(path, own, role, skip_bad_rows)
    return task, examples
