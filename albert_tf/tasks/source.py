"""A task together with the files it reads."""

import dataclasses
import pathlib

from albert_tf.errors import UserError
from albert_tf.tasks.task import Task


@dataclasses.dataclass(frozen=True)
class Split:
    """One file of a task.

    Attributes:
        path: the file.
        columns: what lies where in it, for a task on tables.
        is_labelled: whether it can be scored.
        is_training: whether it is learned from.
        submission: name of a benchmark's file of predictions, or None.
    """

    path: str
    columns: object = None
    _: dataclasses.KW_ONLY
    is_labelled: bool = True
    is_training: bool = False
    submission: str | None = None


@dataclasses.dataclass(frozen=True)
class Source:
    """The files of a task by role.

    Attributes:
        task: the `Task`.
        train: the training `Split`, or None (the GLUE diagnostic set has none).
        dev: evaluation splits by name; the first one picks the best checkpoint.
        test: splits to predict by name, labelled or not.
        skip_bad_rows: leave bad rows out and count them.
    """

    task: Task
    train: Split | None
    dev: dict
    test: dict
    skip_bad_rows: bool = False

    @classmethod
    def by_role(cls, task, splits, skip_bad_rows=False):
        """The `Source` of those of the splits "train", "dev" and "test" that there are.

        Args:
            task: the `Task`.
            splits: `Split`s by role.
            skip_bad_rows: as of the class.
        """
        return cls(
            task=task,
            train=splits.get("train"),
            dev={name: split for name, split in splits.items() if name == "dev"},
            test={name: split for name, split in splits.items() if name == "test"},
            skip_bad_rows=skip_bad_rows,
        )

    def read(self, split):
        """The examples of one of the splits; see `Task.read`."""
        return self.task.read(split, self.skip_bad_rows)

    def labelled(self):
        """The splits to score by name: all of dev, and what has labels of test."""
        splits = {**self.dev, **self.test}
        return {name: split for name, split in splits.items() if split.is_labelled}


def file_of_role(data_dir, role, suffixes):
    """Path of a split's file in a folder, or None.

    Args:
        data_dir: the folder.
        role: the name without its suffix: "train", "dev" or "test".
        suffixes: which there may be, in small letters; a name has them in any case.

    Raises:
        UserError: several files could be meant.
    """
    folder = pathlib.Path(data_dir)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [p for p in paths if p.stem == role and p.suffix.lower() in suffixes]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise UserError(f"--data_dir={data_dir} has {names}; keep one of them.")
    return found[0] if found else None
