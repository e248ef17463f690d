"""Splits one labelled table into training, dev and test examples."""

import collections
import dataclasses
import hashlib
import pathlib

import numpy as np
from absl import logging

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.table_rows import is_table
from albert_tf.tasks.examples import ROLES
from albert_tf.tasks.examples import digest_of

_DECISIVE = ("dev_fraction", "test_fraction", "group_column")
"""The flags that decide, with the table, which row is in which part."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitFlags:
    """A table of your own that is split."""

    data_file: str | None = option(
        "Table to split into train, dev and test instead of --data_dir, or the folder "
        "or hf://owner/name that holds it alone. Each label has the same share of "
        "every part, and equal texts are in one part; the seed and the order of the "
        "rows do not matter.",
        None,
        names="tables",
        replaces=("data_dir", "task_name"),
        may_change=True,  # its rows are facts
    )
    dev_fraction: float = option(
        "Share of --data_file that picks the best checkpoint.", 0.1, minimum=0
    )
    test_fraction: float = option(
        "Share of --data_file that is scored and predicted only; 0 for none.",
        0.1,
        minimum=0,
    )
    group_column: str | None = option(
        "Column of --data_file whose values, such as authors, are in one part each.",
        None,
    )

    def check_split(self, data_dir):
        """Refuses flags that contradict each other or have no effect."""
        if self.data_file and data_dir:
            raise UserError(
                "--data_file is a table to split, and --data_dir a folder of tables "
                "that are split already; give one of them."
            )
        for name in () if self.data_file else _DECISIVE:
            if getattr(self, name) != getattr(SplitFlags, name):
                raise UserError(f"--{name} needs --data_file; leave it out.")
        if not 0 < self.dev_fraction < 1 - self.test_fraction:
            raise UserError(
                f"--dev_fraction={self.dev_fraction} and --test_fraction="
                f"{self.test_fraction} leave no row in dev or in train; expected more "
                "than 0 for dev, and together less than 1."
            )


def find_table(path):
    """Returns the path of a table: of a file itself, of a folder the one it holds.

    Raises:
        UserError: the folder holds none or several.
    """
    if not pathlib.Path(path).is_dir():
        return path
    found = sorted(p for p in pathlib.Path(path).iterdir() if is_table(p))
    if len(found) != 1:
        names = shortened([own.name for own in found]) or "none"
        raise UserError(
            f"--data_file={path} is a folder of {len(found)} tables ({names}), "
            "expected one; name a file or, if train.* and dev.* are among them, the "
            "folder with --data_dir."
        )
    (table,) = found
    return table


def split_table(table, flags):
    """Splits a labelled `Table` into one for each of `ROLES`; test may be left out.

    Rows with one group, or else with one text, stay together. Each label is in train;
    of the other rows, every label (or range of numbers) is divided by the fractions.
    Which rows go where depends on their content alone.

    Args:
        table: the `Table`, perhaps with `groups`.
        flags: `SplitFlags`.

    Returns:
        A dict of `Table` by role; their `split` says how they were made.

    Raises:
        UserError: a part would be empty.
    """
    texts = _text_keys(table)
    units = _units(table.groups or texts)
    labels = _labels_of_units(units, table.labels)
    rows = {role: [] for role in ROLES}
    for role, unit in _roles(units, labels, len(table), flags):
        rows[role] += unit
    if not flags.test_fraction:
        del rows["test"]
    for role, own in rows.items():
        if not own:
            what = "groups" if table.groups else "different texts"
            raise UserError(
                f"{table.path} has {len(units)} {what}, which leave none for {role}; "
                f"raise --{'test' if role == 'test' else 'dev'}_fraction, add rows, or "
                "put tables that you split yourself into --data_dir."
            )
    _tell(table, texts, rows)
    split = {name: getattr(flags, name) for name in _DECISIVE}
    contents = zip(texts, table.groups or texts, table.labels.tolist(), strict=True)
    split["digest"] = digest_of(sorted(contents))
    return {role: _part(table, sorted(own), role, split) for role, own in rows.items()}


def check_same_split(opened, examples, is_start=False):
    """Refuses to apply a model to parts that may hold rows it has learned from.

    Args:
        opened: the `Bundle` of the model.
        examples: the `Examples` by name.
        is_start: whether the model only begins or teaches, on any other table too.

    Raises:
        UserError: the model has learned from another split of a table.
    """
    trained = opened.info.get("split")
    for own in examples.values():
        if trained is None or own.split in (None, trained):
            continue
        if is_start and own.split["digest"] != trained.get("digest"):
            continue
        different = [
            f"{name} {trained.get(name)} (not {value})"
            for name, value in own.split.items()
            if trained.get(name) != value
        ]
        raise UserError(
            f"{opened.path} has learned from another split than {own.path} gives: "
            f"{', '.join(different)}. Its dev and test would hold rows that it has "
            "learned; give the table and the flags of its training, or put new rows "
            "into --data_dir as dev.* or test.*."
        )


def _text_keys(table):
    """Returns the text or pair of each row, regardless of case and white space."""
    columns = [own for own in (table.texts, table.text_pairs) if own is not None]
    return [
        "\0".join(" ".join(text.split()).casefold() for text in row)
        for row in zip(*columns, strict=True)
    ]


def _units(keys):
    """Lists the rows of each key, in an order that depends on the keys alone."""
    rows = collections.defaultdict(list)
    for row, key in enumerate(keys):
        rows[key].append(row)
    by_hash = sorted(rows, key=lambda key: hashlib.sha256(key.encode()).digest())
    return [rows[key] for key in by_hash]


def _labels_of_units(units, labels):
    """Lists the set of each unit's label ids, or its mean number."""
    if labels.dtype.kind == "f":
        return [float(labels[unit].mean()) for unit in units]
    return [_ids(labels[unit]) for unit in units]


def _ids(labels):
    """Returns the ids in labels: `[rows]` ids, or `[rows, labels]` of 0 and 1."""
    found = labels if labels.ndim == 1 else np.flatnonzero(labels.any(axis=0))
    return set(found.tolist())


def _roles(units, labels, count, flags):
    """Yields (role, unit) of each unit, of a table of `count` rows."""
    rest = list(range(len(units)))
    strata = labels
    if labels and isinstance(labels[0], set):
        seen, rest = set(), []
        for place, own in enumerate(labels):
            if own <= seen:
                rest.append(place)
            else:
                seen |= own
                yield "train", units[place]
        total = collections.Counter(label for own in labels for label in own)
        rarest = {label: (total[label], label) for label in total}
        strata = [min((rarest[label] for label in own), default=()) for own in labels]
    # Units of one stratum stay in the order of hashes.
    rest.sort(key=strata.__getitem__)
    sizes = [len(units[place]) for place in rest]
    # What must be in train is not taken from the shares of the others.
    scale = count / max(sum(sizes), 1)
    dev, test = (scale * own for own in (flags.dev_fraction, flags.test_fraction))
    shares = {"train": 1 - dev - test, "dev": dev, "test": test}
    for place, role in zip(rest, _allotted(sizes, shares), strict=True):
        yield role, units[place]


def _allotted(sizes, shares):
    """Yields a role for each size, so that every stretch nearly has the shares."""
    owed = collections.Counter()
    for size in sizes:
        for role, share in shares.items():
            owed[role] += share * size
        chosen = max(owed, key=owed.get)
        owed[chosen] -= size
        yield chosen


def _part(table, rows, role, split):
    """Returns the rows of a table as a `Table` of a role."""
    columns = ("texts", "text_pairs", "negatives", "groups")
    taken = {name: getattr(table, name) for name in columns}
    taken = {n: own and [own[row] for row in rows] for n, own in taken.items()}
    arrays = {"labels": table.labels[rows], "rows": table.rows[rows]}
    return dataclasses.replace(
        table, role=role, num_skipped=0, split=split, **taken, **arrays
    )


def _tell(table, texts, rows):
    """Logs the sizes of the parts, repeated texts, and bad rows that were skipped."""
    sizes = ", ".join(f"{len(own)} {role}" for role, own in rows.items())
    skipped = f"; {table.num_skipped} bad rows left out" if table.num_skipped else ""
    logging.info("%s: %s%s", table.path, sizes, skipped)
    repeated = len(table) - len(set(texts))
    if repeated:
        logging.warning("%s: %d rows repeat another's text.", table.path, repeated)
    parts = collections.defaultdict(set)
    for role, own in rows.items():
        for row in own:
            parts[texts[row]].add(role)
    across = [text for text, own in parts.items() if len(own) > 1]
    if across:
        logging.warning(
            "%s: %d texts are in several parts, since their groups differ, such as "
            "%.80r; scores on them show what was learned by heart.",
            table.path,
            len(across),
            across[0],
        )
