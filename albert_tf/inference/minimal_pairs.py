"""Minimal pairs of sentences, of which a model should find one likelier.

Pairs have the columns of BLiMP (Warstadt et al., arXiv 1912.00582): `sentence_good` and
`sentence_bad`, and optionally `UID`, the set of the pair, `linguistics_term` and
`field`.
"""

import dataclasses
import os
import pathlib

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.table_rows import is_table
from albert_tf.io.table_rows import read_rows

_GOOD, _BAD = "sentence_good", "sentence_bad"
_SET = "UID"
_GROUPS = ("linguistics_term", "field")
# The published files have two spellings of one field, and two sets under another term
# than the published tables.
_SPELLINGS = {
    "syntax/semantics": "syntax_semantics",
    "s-selection": "argument_structure",
}


@dataclasses.dataclass(frozen=True)
class Pair:
    """An acceptable sentence and one that is not.

    Attributes:
        good, bad: the sentences.
        groups: `{"UID", "linguistics_term", "field"}`; None where the file says none.
    """

    good: str
    bad: str
    groups: dict


def read_pairs(path, at_most=None):
    """Reads the pairs of a file, or of all tables of a folder.

    Args:
        path: a .tsv, .csv, .jsonl or .parquet table, perhaps with .gz behind it, or a
            folder.
        at_most: so many of each file, from its beginning; None for all.

    Returns:
        A list of `Pair`s. Without a `UID` the file's name is their set.

    Raises:
        UserError: there is no such file, or no table in the folder; a row lacks a
            sentence; a table without rows.
    """
    files = [path]
    if os.path.isdir(path):
        files = sorted(str(p) for p in pathlib.Path(path).iterdir() if is_table(p))
        if not files:
            raise UserError(
                f"{path} holds no table (.tsv, .csv, .jsonl or .parquet, perhaps with "
                ".gz)."
            )
    return [pair for file in files for pair in _pairs_of(file, at_most)]


def _pairs_of(path, at_most):
    pairs, header = [], None
    for where, fields in read_rows(path):
        if isinstance(fields, ValueError):
            raise UserError(f"{where}: {fields}.")
        if isinstance(fields, list):
            if header is None:
                header = fields
                continue
            if len(fields) != len(header):
                raise UserError(
                    f"{where}: {len(fields)} fields, but the header has {len(header)}."
                )
            fields = dict(zip(header, fields, strict=True))
        pairs.append(_pair(path, where, fields))
        if len(pairs) == at_most:
            break
    if not pairs:
        raise UserError(f"{path} holds no pairs.")
    return pairs


def _pair(path, where, fields):
    for name in (_GOOD, _BAD):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(
                f"{where}: no sentence in the column {name}; a pair has the columns "
                f"{_GOOD} and {_BAD}."
            )
    of_file = pathlib.Path(path).name.split(".")[0]
    groups = {name: fields.get(name) for name in _GROUPS}
    groups = {k: _SPELLINGS.get(value, value) for k, value in groups.items()}
    return Pair(
        fields[_GOOD], fields[_BAD], {_SET: fields.get(_SET, of_file), **groups}
    )


def accuracies(pairs, good, bad):
    """Returns the share of pairs whose acceptable sentence has the higher score.

    Args:
        pairs: list of `Pair`s.
        good, bad: float `[pairs]`, the scores of their sentences.

    Returns:
        `{"overall": share, "UID": {…}, "linguistics_term": {…}, "field": {…}}`, the
        latter over the pairs of each set, term and field; `overall` is the mean over
        the sets, as in BLiMP's tables. Equal scores are wrong.
    """
    right = np.asarray(good) > np.asarray(bad)
    found = {}
    for name in (_SET, *_GROUPS):
        of_pairs = np.array([str(pair.groups[name]) for pair in pairs])
        names = {pair.groups[name] for pair in pairs} - {None}
        found[name] = {
            key: float(right[of_pairs == str(key)].mean())
            for key in sorted(names, key=str)
        }
    return {"overall": float(np.mean([*found[_SET].values()])), **found}
