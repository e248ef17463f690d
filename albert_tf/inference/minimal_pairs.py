"""Reads and scores minimal pairs of sentences, such as BLiMP's.

Tables have the columns of BLiMP (Warstadt et al., arXiv 1912.00582).
"""

import os
import pathlib

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.files import check_once
from albert_tf.io.table_rows import is_table
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.tables import check_characters

_SENTENCES = {"good": "sentence_good", "bad": "sentence_bad"}
_SET = "UID"
_GROUPS = (_SET, "linguistics_term", "field")
# The published files spell one field in two ways, and assign two sets to other terms
# than the published tables do.
_SPELLINGS = {
    "syntax/semantics": "syntax_semantics",
    "s-selection": "argument_structure",
}


def read_pairs(path, at_most=None):
    """Reads pairs from a file, or from all tables in a folder.

    Args:
        path: a .tsv, .csv, .jsonl or .parquet table, optionally with .gz appended, or a
            folder.
        at_most: maximum number of pairs to read per file; None for all.

    Returns:
        A list of dicts: `where` (file and row of the pair), the sentences `good` and
        `bad`, and `groups`, `{"UID", "linguistics_term", "field"}`, each None if the
        file lacks it. Without a column `UID`, the file name is the UID.

    Raises:
        UserError: there is no such file, or no table in the folder; a row lacks a
            sentence, is not UTF-8 or has an invalid group name; a table has no rows or
            duplicate column names.
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
        if isinstance(fields, list) and header is None:
            header = [name.strip() for name in fields]
            check_once(path, header, (*_SENTENCES.values(), *_GROUPS))
            continue
        try:
            if isinstance(fields, ValueError):
                raise fields
            if isinstance(fields, list):
                if len(fields) != len(header):
                    raise ValueError(
                        f"{len(fields)} fields, but the header has {len(header)}"
                    )
                fields = dict(zip(header, fields, strict=True))
            pairs.append({"where": where, **_pair(path, fields)})
        except ValueError as error:
            raise UserError(f"{where}: {error}; correct the row.") from error
        if len(pairs) == at_most:
            break
    if not pairs:
        raise UserError(f"{path} holds no pairs.")
    return pairs


def _pair(path, fields):
    pair = {key: fields.get(column) for key, column in _SENTENCES.items()}
    for key, sentence in pair.items():
        if not isinstance(sentence, str) or not sentence.strip():
            raise ValueError(f"no sentence in the column {_SENTENCES[key]}")
        check_characters("text", sentence)
    fields = {_SET: pathlib.Path(path).name.split(".")[0], **fields}
    groups = {column: _group(column, fields.get(column)) for column in _GROUPS}
    if groups[_SET] is None:
        raise ValueError(f"no name of a set in the column {_SET}")
    return {**pair, "groups": groups}


def _group(column, value):
    if not isinstance(value, str | int | None):
        raise ValueError(f"{value!r} in the column {column} is no name")
    name = "" if value is None else str(value)
    check_characters("text", name)
    return _SPELLINGS.get(name, name) if name.strip() else None


def score_pairs(model, tokenizer, pairs, whole_words=False, batch_size=256):
    """Scores both sentences of each pair; see `pseudo_log_likelihoods`.

    Returns:
        float64 `[pairs, 2]`: the scores of the good and of the bad sentences.

    Raises:
        UserError: a sentence has no tokens and would win against any other; also see
            `pseudo_log_likelihoods`.
    """
    # Imported here, so that reading pairs does not wait for TensorFlow.
    from albert_tf.inference.masked_words import pseudo_log_likelihoods

    texts = [pair[key] for pair in pairs for key in _SENTENCES]
    for place in np.flatnonzero(tokenizer.encode_flat(texts)[1] == 0):
        column = list(_SENTENCES.values())[place % 2]
        raise UserError(
            f"{pairs[place // 2]['where']}: the tokenizer finds no token in the "
            f"sentence of the column {column}; correct the row, or leave it out."
        )
    scores = pseudo_log_likelihoods(model, tokenizer, texts, whole_words, batch_size)
    return scores.reshape(-1, 2)


def accuracies(pairs, good, bad):
    """Computes the fraction of pairs whose acceptable sentence has the higher score.

    Args:
        pairs: the result of `read_pairs`.
        good, bad: float `[pairs]`, the scores of the sentences.

    Returns:
        `{"overall": share, "UID": {…}, "linguistics_term": {…}, "field": {…}}`; the
        dicts map each set, term and field to its share. `overall` is the mean over the
        sets, as in BLiMP's tables. Ties count as errors.
    """
    right = np.asarray(good) > np.asarray(bad)
    found = {}
    for column in _GROUPS:
        groups = np.array([pair["groups"][column] for pair in pairs], object)
        found[column] = {
            name: float(right[groups == name].mean())
            for name in sorted(set(groups) - {None})
        }
    return {"overall": float(np.mean([*found[_SET].values()])), **found}
