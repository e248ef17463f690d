"""A task together with the files it reads."""

import dataclasses

from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.text_task import TextTask


@dataclasses.dataclass(frozen=True)
class Split:
    """One file of a task: its path, its columns, the name of its GLUE submission."""

    path: str
    columns: Columns
    submission: str | None = None


@dataclasses.dataclass(frozen=True)
class Source:
    """The files of a task by role.

    Attributes:
        task: the `TextTask`.
        train: the training `Split`, or None (the GLUE diagnostic set has none).
        dev: evaluation splits by name; the first one picks the best checkpoint.
        test: splits to predict by name, labelled or not.
        skip_bad_rows: leave bad rows out and count them.
    """

    task: TextTask
    train: Split | None
    dev: dict
    test: dict
    skip_bad_rows: bool = False

    def read(self, split):
        """The `Table` of one of the splits; see `tables.read_table` for errors."""
        return read_table(
            split.path, split.columns, self.task.parse_label, self.skip_bad_rows
        )
