"""Examples read from the files of a task: the base class and tables of texts."""

import abc
import dataclasses
import hashlib
import pathlib

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.text_files import uncompressed

ROLES = ("train", "dev", "test")
"""Roles of examples: for training, for picking the best checkpoint, for predicting."""
_STEMS = {"dev": ("dev", "validation")}  # of file names; by default the role itself


@dataclasses.dataclass(frozen=True)
class Examples(abc.ABC):
    """The valid examples of one file or folder.

    The commands keep examples by name, in the order of scoring and predicting; the
    first ones with the role "dev" pick the best checkpoint.

    Attributes:
        path: the file or folder.
        role: one of `ROLES`.
        num_skipped: the number of bad examples that were skipped.
        submission: name of the prediction file for a benchmark, or None.
        split: how the examples were split off a larger table, a dict for
            `training_info.json`; None if the file is theirs alone.
        weights: float32 `[N]`, the loss weight of each example; None for 1.
    """

    path: str
    _: dataclasses.KW_ONLY
    role: str = "dev"
    num_skipped: int = 0
    submission: str | None = None
    split: dict | None = None
    weights: np.ndarray | None = None

    @abc.abstractmethod
    def __len__(self):
        """Counts the examples."""

    @property
    def is_labelled(self):
        """True if all examples have labels."""
        return self.labels is not None

    @abc.abstractmethod
    def digest(self):
        """Computes the hex SHA-256 of everything that training and scores depend on."""

    @abc.abstractmethod
    def inputs_digest(self):
        """Computes the hex SHA-256 of everything that the token rows depend on."""


def of_role(examples, role):
    """Returns a dict by name of the `Examples` that have a role."""
    return {name: own for name, own in examples.items() if own.role == role}


def digest_of(values):
    """Computes the hex SHA-256 of the `repr` of values."""
    found = hashlib.sha256()
    for value in values:
        found.update(repr(value).encode())
    return found.hexdigest()


def or_error(make, *values):
    """Returns the result of a function, or the ValueError that it raises."""
    try:
        return make(*values)
    except ValueError as error:
        return error


def good_ones(found, skip_bad_rows):
    """Collects the valid examples of a file.

    Args:
        found: iterable of (place in the file, example); instead of a bad example, it
            has the ValueError that says what is wrong.
        skip_bad_rows: skip and count bad examples instead of raising.

    Returns:
        A list of the valid examples, and the number of bad ones.

    Raises:
        UserError: there is a bad example; the message has its place and its fault.
    """
    good, skipped = [], 0
    for where, example in found:
        if not isinstance(example, ValueError):
            good.append(example)
        elif skip_bad_rows:
            skipped += 1
        else:
            raise UserError(
                f"{where}: {example!s:.400}; correct the row, or leave bad rows out "
                "with --skip_bad_rows."
            ) from example
    return good, skipped


def files_by_role(data_dir, suffixes, required, shown=None):
    """Finds the files of a folder by role, such as `train.tsv`.

    Args:
        data_dir: the folder.
        suffixes: the allowed suffixes in lower case; file names may have them in any
            case, optionally followed by one of `COMPRESSED`.
        required: the roles that must have a file.
        shown: the suffixes to list if a file is missing; by default all.

    Raises:
        UserError: a required file is missing, or several files match a role.
    """
    folder = pathlib.Path(data_dir)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    named = [(p, pathlib.Path(uncompressed(p))) for p in paths]
    named = [(p, own.stem) for p, own in named if own.suffix.lower() in suffixes]
    files = {}
    for role in ROLES:
        found = [p for p, stem in named if stem in _STEMS.get(role, (role,))]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise UserError(f"--data_dir={data_dir} has {names}; keep one of them.")
        if found:
            (files[role],) = found
        elif role in required:
            *names, last = [f"{role}{suffix}" for suffix in shown or suffixes]
            expected = f"{', '.join(names)} or {last}" if names else last
            meant = did_you_mean(data_dir) or f"; name the folder of the {role} set."
            raise UserError(f"--data_dir={data_dir} has no {expected}{meant}")
    return files


@dataclasses.dataclass(frozen=True)
class Table(Examples):
    """The valid rows of one file, as columns.

    Attributes:
        texts: first (or only) text of each row.
        text_pairs: second text of each row, or None for single-text tasks.
        labels: `[N]` int32 ids or float32 values, `[N, L]` int32 for multi-label;
            None if the file has no labels.
        rows: index of each row in the file, from 0, without the header.
        negatives: third text of each row, or None.
        groups: what each row has in common with others, a list of str, or None.
    """

    texts: list
    text_pairs: list | None
    labels: np.ndarray | None
    rows: np.ndarray
    negatives: list | None = None
    groups: list | None = None

    def __len__(self):
        return len(self.texts)

    def inputs_digest(self):
        digest = hashlib.sha256()
        columns = (self.texts, self.text_pairs or [])
        for texts in (*columns, self.negatives) if self.negatives else columns:
            for text in texts:
                # NUL is a safe separator: it cannot occur in a text.
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(b"\0")
        return digest.hexdigest()

    def digest(self):
        digest = hashlib.sha256(self.inputs_digest().encode())
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).tobytes())
        return digest.hexdigest()
