"""Examples read from the files of a task: the base class, and tables of texts."""

import abc
import dataclasses
import hashlib
import pathlib

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.text_files import uncompressed

ROLES = ("train", "dev", "test")
"""Uses of examples: to learn from, to pick the best checkpoint, to predict."""
_STEMS = {"dev": ("dev", "validation")}  # of names of files; of others the role itself


@dataclasses.dataclass(frozen=True)
class Examples(abc.ABC):
    """The good examples of one file or folder.

    A family of tasks returns them by name, in the order in which they are to be scored
    or predicted; the first of "dev" picks the best checkpoint.

    Attributes:
        path: where they are from.
        role: one of `ROLES`.
        num_skipped: the number of bad examples that were left out.
        submission: name of a benchmark's file of predictions, or None.
    """

    path: str
    _: dataclasses.KW_ONLY
    role: str = "dev"
    num_skipped: int = 0
    submission: str | None = None

    @abc.abstractmethod
    def __len__(self):
        """Counts the examples."""

    @property
    def is_labelled(self):
        """True if they can be scored."""
        return self.labels is not None

    @abc.abstractmethod
    def digest(self):
        """Computes SHA-256 of all that training and scores depend on, hexadecimal."""

    @abc.abstractmethod
    def inputs_digest(self):
        """Computes SHA-256 of the sources of rows of tokens, hexadecimal."""


def of_role(examples, role):
    """Returns the `Examples` that have a role, a dict by name."""
    return {name: own for name, own in examples.items() if own.role == role}


def digest_of(values):
    """Computes SHA-256 of the values' representations, hexadecimal."""
    found = hashlib.sha256()
    for value in values:
        found.update(repr(value).encode())
    return found.hexdigest()


def or_error(make, *values):
    """Calls a function, and returns its result or the ValueError that it raises."""
    try:
        return make(*values)
    except ValueError as error:
        return error


def good_ones(found, skip_bad_rows):
    """Collects the good examples of a file.

    Args:
        found: iterable of the place in the file and the example, or the ValueError that
            says what is wrong with it.
        skip_bad_rows: leave bad ones out and count them, instead of stopping.

    Returns:
        A list of the good ones, and the number of the others.

    Raises:
        UserError: it names the place and the fault of the first bad one.
    """
    good, skipped = [], 0
    for where, example in found:
        if not isinstance(example, ValueError):
            good.append(example)
        elif skip_bad_rows:
            skipped += 1
        else:
            raise UserError(
                f"{where}: {example}; correct it, or leave bad rows out with "
                "--skip_bad_rows."
            ) from example
    return good, skipped


def files_by_role(data_dir, suffixes, required, shown=None):
    """Finds the files of a folder by role, such as `train.tsv`.

    Args:
        data_dir: the folder.
        suffixes: which there may be, in small letters; a name has them in any case,
            perhaps with one of `COMPRESSED` behind.
        required: the roles that must be there.
        shown: the suffixes to name where a file is missing; by default all.

    Raises:
        UserError: a required file is missing, or two could be meant for a role.
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
            files[role] = found[0]
        elif role in required:
            *names, last = [f"{role}{suffix}" for suffix in shown or suffixes]
            expected = f"{', '.join(names)} or {last}" if names else last
            meant = did_you_mean(data_dir) or f"; name the folder of the {role} set."
            raise UserError(f"--data_dir={data_dir} has no {expected}{meant}")
    return files


@dataclasses.dataclass(frozen=True)
class Table(Examples):
    """The good rows of one file, column by column.

    Attributes:
        texts: first (or only) text of each row.
        text_pairs: second text of each row, or None for single-text tasks.
        labels: `[N]` int32 ids or float32 values, `[N, L]` int32 for multi-label;
            None if the file has no labels.
        rows: index of each row in the file, from 0, the header not counted.
        negatives: third text of each row, or None.
    """

    texts: list
    text_pairs: list | None
    labels: np.ndarray | None
    rows: np.ndarray
    negatives: list | None = None

    def __len__(self):
        return len(self.texts)

    def inputs_digest(self):
        digest = hashlib.sha256()
        columns = (self.texts, self.text_pairs or [])
        for texts in (*columns, self.negatives) if self.negatives else columns:
            for text in texts:
                # A NUL cannot occur in a table's text: it separates them.
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(b"\0")
        return digest.hexdigest()

    def digest(self):
        digest = hashlib.sha256(self.inputs_digest().encode())
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).tobytes())
        return digest.hexdigest()
