"""Scores a model on minimal pairs of sentences, such as BLiMP, without training.

  python -m albert_tf.minimal_pairs --model_dir=out --input_file=blimp/data

This prints the share of pairs whose acceptable sentence the model finds likelier, by
set, term, field and in all. docs/inference.md says more. Tables have the columns of
BLiMP (Warstadt et al., arXiv 1912.00582).
"""

import dataclasses
import os
import pathlib

import numpy as np

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.io.files import check_once
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.io.table_rows import is_table
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.tables import check_characters

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
class MinimalPairsOptions(ReadingFlags):
    """The flags of `python -m albert_tf.minimal_pairs`."""

    model_dir: str = option(
        "Pretrained model, of masked words, replaced tokens or XLNet's permutations: "
        "the model directory of a run, a Hugging Face directory, or hf://owner/name."
    )
    input_file: str = option(
        "Table of pairs with the columns sentence_good and sentence_bad and, if there "
        "are any, UID, linguistics_term and field (.tsv, .csv, .jsonl or .parquet, "
        "perhaps with .gz); or a folder of such tables."
    )
    output_file: str | None = option(
        "File for the accuracies and the scores of each pair, as JSON.", None
    )
    pairs_per_set: int | None = option(
        "Score only so many pairs of each file, from its beginning; all by default.",
        None,
        minimum=1,
    )
    whole_words: bool = option(
        "Hide the later tokens of a token's word, too, so that no word is likelier for "
        "being cut into many.",
        False,
    )
    batch_size: int = option("Number of tokens to ask for at a time.", 256, minimum=1)


@obeys_reading_flags
def minimal_pairs(options):
    """Prints the accuracies, and writes them if the options name a file.

    Returns:
        The accuracies; see `accuracies`.

    Raises:
        UserError: files that cannot be read, a model without a language model, or a
            sentence without tokens or longer than the model's positions.
    """
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.inference.loading import language_model_class
    from albert_tf.inference.loading import load
    from albert_tf.inference.masked_words import pseudo_log_likelihoods

    pairs = read_pairs(options.input_file, options.pairs_per_set)
    model, tokenizer = load(language_model_class, options.model_dir)
    texts = [text for pair in pairs for text in (pair["good"], pair["bad"])]
    _check_tokens(pairs, tokenizer.encode_flat(texts)[1])
    scores = pseudo_log_likelihoods(
        model, tokenizer, texts, options.whole_words, options.batch_size
    )
    good, bad = scores[::2], scores[1::2]
    found = accuracies(pairs, good, bad)
    if options.output_file:
        rows = [
            {
                **{name: pair[name] for name in ("good", "bad", "groups")},
                "good_score": float(g),
                "bad_score": float(b),
            }
            for pair, g, b in zip(pairs, good, bad, strict=True)
        ]
        write_atomically(options.output_file, json_text({**found, "pairs": rows}))
    print("\n".join(_lines(found)))
    return found


def _check_tokens(pairs, lengths):
    """Refuses sentences without tokens, which would win over any other.

    `lengths` are the numbers of tokens of the two sentences of each pair in turn.
    """
    for place in np.flatnonzero(lengths == 0):
        pair, column = pairs[place // 2], (_GOOD, _BAD)[place % 2]
        raise UserError(
            f"{pair['where']}: the tokenizer finds no token in the sentence of the "
            f"column {column}; correct the row, or leave it out."
        )


def _lines(found):
    for name, values in found.items():
        if name == "overall":
            continue
        yield f"{name}:"
        for key, value in values.items():
            yield f"  {100 * value:5.1f}  {key}"
    yield f"overall = {100 * found['overall']:.2f}"


def read_pairs(path, at_most=None):
    """Reads the pairs of a file, or of all tables of a folder.

    Args:
        path: a .tsv, .csv, .jsonl or .parquet table, perhaps with .gz behind it, or a
            folder.
        at_most: so many of each file, from its beginning; None for all.

    Returns:
        A list of dicts: `where` a pair stands, its sentences `good` and `bad`, and
        `groups`, `{"UID", "linguistics_term", "field"}`, None where the file says none.
        Without a `UID` the file's name is their set.

    Raises:
        UserError: there is no such file, or no table in the folder; a row lacks a
            sentence or is not UTF-8, or its group is no name; a table without rows, or
            with two columns of a name.
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
                header = [name.strip() for name in fields]
                check_once(path, header, (_GOOD, _BAD, _SET, *_GROUPS))
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
        _check_characters(where, fields[name])
    groups = {name: _name(where, name, fields.get(name)) for name in _GROUPS}
    groups = {k: _SPELLINGS.get(value, value) for k, value in groups.items()}
    of_file = pathlib.Path(path).name.split(".")[0]
    own_set = _name(where, _SET, fields.get(_SET, of_file))
    if own_set is None:
        raise UserError(
            f"{where}: no name of a set in the column {_SET}; name it, or leave the "
            "column out, so that the file's name is that of the set."
        )
    groups = {_SET: own_set, **groups}
    return {
        "where": where,
        "good": fields[_GOOD],
        "bad": fields[_BAD],
        "groups": groups,
    }


def _name(where, column, value):
    """Returns the name of a group as text, None where there is none."""
    if not isinstance(value, str | int | None):
        raise UserError(
            f"{where}: {value!r} in the column {column}; expected a name, as text."
        )
    name = "" if value is None else str(value)
    _check_characters(where, name)
    return name if name.strip() else None


def _check_characters(where, text):
    try:
        check_characters("text", text)
    except ValueError as error:
        raise UserError(f"{where}: {error}; correct the row.") from error


def accuracies(pairs, good, bad):
    """Returns the share of pairs whose acceptable sentence has the higher score.

    Args:
        pairs: of `read_pairs`.
        good, bad: float `[pairs]`, the scores of their sentences.

    Returns:
        `{"overall": share, "UID": {…}, "linguistics_term": {…}, "field": {…}}`, the
        latter over the pairs of each set, term and field; `overall` is the mean over
        the sets, as in BLiMP's tables. Equal scores are wrong.
    """
    right = np.asarray(good) > np.asarray(bad)
    found = {}
    for name in (_SET, *_GROUPS):
        of_pairs = np.array([pair["groups"][name] for pair in pairs], object)
        names = set(of_pairs) - {None}
        found[name] = {
            key: float(right[of_pairs == key].mean()) for key in sorted(names)
        }
    return {"overall": float(np.mean([*found[_SET].values()])), **found}


def main(argv=None):
    """Runs the command."""
    run(MinimalPairsOptions, minimal_pairs, argv=argv)


if __name__ == "__main__":
    main()
