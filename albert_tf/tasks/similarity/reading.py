"""Reads tables of pairs: with scores, with negatives, or single texts."""

import dataclasses
import functools

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.table_rows import SUFFIXES
from albert_tf.tasks.classification.glue import glue_examples
from albert_tf.tasks.examples import Table
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.similarity import OF_PAIRS
from albert_tf.tasks.similarity import OF_TEXTS
from albert_tf.tasks.similarity.task import text_numbers
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import has_column
from albert_tf.tasks.tables import number_of
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.tables import usual_column
from albert_tf.tokenization.features import elements

_FIRST = ("anchor", "sentence1", "text")
_SECOND = ("positive", "sentence2", "text_pair")
_SCORES = ("score", "label")  # columns that say which pairs are positives
_STS_B = 5.0  # the maximum score


def read_pairs(options, roles):
    """Reads the `Table`s of --data_dir by role.

    Args:
        options: `SimilarityOptions`.
        roles: the required roles.

    Returns:
        A dict of `Table`. Labels are scores from 0 to 1, float32 `[rows]`, or text
        numbers, int32 `[rows, texts]`; None in a test table without scores.

    Raises:
        UserError: a file is missing or bad, or does not fit the loss.
    """
    if options.task_name == "sts-b":
        return _sts_b(options, roles)
    paths = files_by_role(options.data_dir, SUFFIXES, roles, SUFFIXES[:3])
    return {role: _read(options, paths[role], role) for role in roles}


def read_positives(path, text_column=None, text_pair_column=None):
    """Reads the anchors and the positives of a table of pairs, two lists of str.

    The columns are by default those of a training table.

    Raises:
        UserError: the file is missing or bad, has scores, or a text is empty.
    """
    for name in _SCORES:
        if has_column(path, name):
            raise UserError(
                f"{path} has a column {name!r}, but every row counts as a positive: "
                "keep the rows of positives, without that column."
            )
    first = text_column or usual_column(path, _FIRST)
    second = text_pair_column or usual_column(path, _SECOND)
    table = read_table(path, Columns(first, second, may_be_empty=False))
    return table.texts, table.text_pairs


def table_of(pairs, scores=None, loss=None):
    """Makes a labelled `Table` of pairs in memory, and picks the loss.

    Args:
        pairs: tuples of two texts or, without scores, three; or texts.
        scores: the score of each pair, from 0 to 1; or None.
        loss: one of `LOSSES`, or None for the default.

    Raises:
        UserError: there are no pairs, their lengths differ, a text is empty or missing,
            scores are out of range, or the loss does not fit.
    """
    rows = elements("pairs", pairs)
    rows = [(row,) if isinstance(row, str) else tuple(row) for row in rows]
    sizes = sorted({len(row) for row in rows})
    usual = {1: OF_TEXTS, 2: "cosent" if scores is not None else OF_PAIRS, 3: OF_PAIRS}
    if len(sizes) != 1 or sizes[0] not in usual:
        raise UserError(
            f"pairs has rows of {' and '.join(map(str, sizes)) or 'no'} texts; each "
            "must be an anchor, a positive and perhaps a negative, or one text."
        )
    loss = loss or usual[sizes[0]]
    takes_scores = loss not in (OF_PAIRS, OF_TEXTS)
    fitting = {OF_TEXTS: (1,), OF_PAIRS: (2, 3)}.get(loss, (2,))
    if takes_scores != (scores is not None) or sizes[0] not in fitting:
        raise UserError(
            f"loss={loss!r} does not fit pairs of {sizes[0]} texts "
            f"{'with' if scores is not None else 'without'} scores."
        )
    for place, row in enumerate(rows):
        if not all(isinstance(text, str) and text.strip() for text in row):
            raise UserError(f"pairs[{place}] holds an empty text, or something else.")
    columns = [*map(list, zip(*rows, strict=True)), None, None]
    numbers = np.arange(len(rows), dtype=np.int32)
    table = Table("pairs", columns[0], columns[1], None, numbers, columns[2])
    if scores is None:
        return _numbered(table), loss
    scores = elements("scores", scores)
    if len(scores) != len(rows):
        raise UserError(f"There are {len(rows)} pairs, but {len(scores)} scores.")
    return dataclasses.replace(table, labels=_shares("scores", scores, 1.0)), loss


def _shares(name, scores, largest):
    """Divides scores by the maximum score: float32 `[rows]`."""
    try:
        return np.array([_share(score, largest) for score in scores], np.float32)
    except ValueError as error:
        raise UserError(f"{name}: {error}.") from error


def _read(options, path, role):
    """Reads a table in the form that the loss, or its scores, require."""

    def table(columns):
        skips = options.skip_bad_rows
        parse = functools.partial(_share, largest=options.max_score or 1.0)
        return read_table(path, columns, parse, skips, role)

    is_train = role == "train"
    first = options.text_column or usual_column(path, _FIRST)
    if is_train and options.loss == OF_TEXTS:
        columns = Columns(first, may_be_empty=False)
        return _numbered(table(columns))
    second = options.text_pair_column or usual_column(path, _SECOND)
    has_scores = has_column(path, options.label_column)
    if has_scores and not (is_train and options.loss == OF_PAIRS):
        return table(Columns(first, second, options.label_column))
    if role == "test":
        return table(Columns(first, second))
    if options.loss != OF_PAIRS:
        raise UserError(
            f"{path} has no column {options.label_column!r} of scores, which "
            f"--loss={options.loss} needs; name it with --label_column, or take "
            "--loss=info_nce, which learns from pairs alone."
        )
    negative = options.negative_column
    negative = negative if has_column(path, negative) else None
    columns = Columns(first, second, may_be_empty=False, negative=negative)
    return _numbered(table(columns))


def _share(value, largest):
    """Parses a score and divides it by the maximum score.

    Raises:
        ValueError: the score is not a number, or out of range.
    """
    try:
        score = number_of(value)
    except ValueError:
        score = float("nan")
    if not 0 <= score <= largest:
        raise ValueError(f"the score {value!r} is not a number from 0 to {largest:g}")
    return np.float32(score / largest)


def _numbered(table):
    """Sets the labels of a table to the numbers of its texts."""
    return dataclasses.replace(table, labels=text_numbers(table)[0])


def _sts_b(options, roles):
    """Reads STS-B; for single texts, takes both sentences of each pair."""
    skips, largest = options.skip_bad_rows, options.max_score or _STS_B
    _, examples = glue_examples(
        "sts-b", options.data_dir, skips, roles, "test" in roles
    )
    if options.loss == OF_PAIRS and "train" in roles:
        raise UserError(
            "--task_name=sts-b has scores, of which --loss=info_nce makes no use; take "
            "--loss=cosent or cosine."
        )
    for role, table in examples.items():
        if table.labels is None:
            continue
        shares = _shares(table.path, map(float, table.labels), largest)
        examples[role] = dataclasses.replace(table, labels=shares)
    if options.loss == OF_TEXTS and "train" in examples:
        table = examples["train"]
        texts = list(dict.fromkeys([*table.texts, *table.text_pairs]))
        rows = np.arange(len(texts), dtype=np.int32)
        table = dataclasses.replace(table, texts=texts, text_pairs=None, rows=rows)
        examples["train"] = _numbered(table)
    return examples
