"""Reads tables of texts; reports or counts bad rows."""

import ast
import dataclasses
import json
import math
import numbers
import re
import unicodedata
import warnings

import numpy as np

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.files import check_once
from albert_tf.io.files import parse_json
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.examples import Table
from albert_tf.tasks.examples import good_ones
from albert_tf.tasks.examples import or_error
from albert_tf.tokenization.normalization import WHITE_SPACE

CUSTOM = "custom"
"""The --task_name of tables of one's own."""
_HIDDEN = ("", "-1")  # placeholders for hidden labels
# U+200B and U+FEFF are invisible, too, but isspace() is False for them.
_BLANK = WHITE_SPACE + "\u200b\ufeff"
_MAX_TEXT = 1_048_576  # characters; more than any model reads
_MAX_LIST = 65_536  # characters of a list in a cell
_IN_ORDER = ("text", "text_pair", "label", "negative", "group")
"""The fields of `Columns` in the order of `_records`."""
# float() also accepts "1_5", "nan" and the digits of all scripts.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"([+-]?\d+)\.0+", re.ASCII)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnFlags:
    """Columns of a labelled table."""

    text_column: str = option(
        "Column of the text, or of the first of two texts, in a labelled table.",
        "sentence",
    )
    text_pair_column: str | None = option(
        "Column of the second text in a labelled table.", None
    )
    label_column: str = option("Column of the label in a labelled table.", "label")

    @property
    def columns(self):
        """The `Columns` for `read_table`."""
        return Columns(self.text_column, self.text_pair_column, self.label_column)

    def check_columns_read(self, eval_file):
        """Refuses column flags without a file that they apply to."""
        if eval_file is None and self.columns != ColumnFlags().columns:
            raise UserError(
                "--text_column, --text_pair_column and --label_column are columns of "
                "--eval_file; give that, too, or leave them out."
            )


@dataclasses.dataclass(frozen=True)
class Columns:
    """Columns of a table by use: names in its header, or numbers without a header.

    Attributes:
        text: column of the text, or of the first text of a pair.
        text_pair: column of the second text; None for single-text tasks.
        label: column of the label; None for unlabelled files.
        may_be_empty: whether a text may be empty; None: only without a label.
        negative: column of a third text; None for none.
        group: column of what rows have in common; None for none.
    """

    text: str | int
    text_pair: str | int | None = None
    label: str | int | None = None
    may_be_empty: bool | None = None
    negative: str | int | None = None
    group: str | None = None


def read_table(path, columns, parse_label=None, skip_bad_rows=False, role="dev"):
    """Reads one file into a `Table`.

    Args:
        path: a `.tsv`, `.csv` or `.jsonl` file in UTF-8, or a `.parquet` file.
        columns: a `Columns`.
        parse_label: function that converts a raw label to a number or vector, or raises
            ValueError; unused if `columns.label` is None.
        skip_bad_rows: skip and count bad rows instead of raising.
        role: the table's role, one of `ROLES`.

    Raises:
        UserError: the file is missing, empty or lacks a column; or a row is bad: fewer
            or more columns than the header, a NUL byte, invalid UTF-8, an invalid
            label, an empty group, or an empty text (unlabelled files may have empty
            texts).
    """
    good, skipped = good_ones(_examples(path, columns, parse_label), skip_bad_rows)
    if not good:
        raise UserError(f"{path} holds no usable row; expected one example per row.")
    rows, texts, pairs, labels, negatives, groups = map(list, zip(*good, strict=True))
    return Table(
        path=str(path),
        texts=texts,
        text_pairs=None if columns.text_pair is None else pairs,
        labels=None if columns.label is None else _stack(labels),
        rows=np.array(rows, np.int32),
        negatives=None if columns.negative is None else negatives,
        groups=None if columns.group is None else groups,
        role=role,
        num_skipped=skipped,
    )


def discover_labels(path, columns, label_names, skip_bad_rows):
    """Lists the sorted distinct labels of a file, as a tuple of strings.

    Ignores the labels of rows that `read_table` would skip.

    Args:
        path, columns, skip_bad_rows: see `read_table`.
        label_names: function that maps a raw label to label names, or raises
            ValueError.

    Raises:
        UserError: see `read_table`; or each row has both of the labels 0 and 1.
    """
    good, _ = good_ones(_examples(path, columns, label_names), skip_bad_rows)
    names = [example[3] for example in good]
    if names and all(sorted(own) == ["0", "1"] for own in names):
        raise UserError(
            f"The column {columns.label!r} of {path} has vectors of 0 and 1; name the "
            "labels that they stand for, in order, with --labels."
        )
    return one_spelling(name for own in names for name in own)


def one_spelling(names):
    """Returns sorted label names, one per `label_key`."""
    spellings = {}
    for name in names:
        spellings.setdefault(label_key(name), set()).add(name)
    return tuple(
        sorted(key if len(own) > 1 else own.pop() for key, own in spellings.items())
    )


def checked_names(source, names, fewest=0):
    """Validates label names, and returns them as a tuple.

    Args:
        source: the source of the names, which begins the message.
        names: a list of str.
        fewest: the minimum number of labels.

    Raises:
        UserError: a name is empty or occurs twice, in any spelling; or there are too
            few names.
    """
    keys = [label_key(name) for name in names]
    repeated = [n for n, key in zip(names, keys, strict=True) if keys.count(key) > 1]
    if "" in names or repeated:
        problem = f"repeats {repeated[0]!r}" if repeated else "has an empty name"
        raise UserError(f"{source} {problem}; give each label once.")
    if len(names) < fewest:
        raise UserError(
            f"{source} has {len(names)} label(s); expected at least {fewest}."
        )
    return tuple(names)


def has_column(path, column):
    """Returns whether the header (or the first object) of a table has a column."""
    _, fields = next(read_rows(path), (None, []))
    return not isinstance(fields, ValueError) and nfc(column) in map(nfc, fields)


def usual_column(path, names):
    """Returns the first of the names that a table has as a column, else the first."""
    return next((name for name in names if has_column(path, name)), names[0])


def has_labels(path, column):
    """Returns whether a column exists with labels other than "" and -1 (hidden)."""
    if not has_column(path, column):
        return False
    for _, fields in _records(path, Columns(column)):
        label = "" if isinstance(fields, ValueError) else fields[0]
        if label_key(str(label)) not in _HIDDEN:
            return True
    return False


def _examples(path, columns, parse_label):
    """Yields (where, example or ValueError) of each row; see `_check`."""
    for row, (where, fields) in enumerate(_records(path, columns)):
        yield where, or_error(_check, row, fields, columns, parse_label)


def _check(row, fields, columns, parse_label):
    """Returns (row, text, pair, label, negative, group).

    Raises:
        ValueError: the row is bad.
    """
    if isinstance(fields, ValueError):
        raise fields
    label = fields[2]
    text, pair, negative, group = map(_text, (*fields[:2], *fields[3:]))
    texts = [value for value in (text, pair, negative) if value is not None]
    for name in label if isinstance(label, list) else [label]:
        check_characters("label", trimmed(name))
    is_labelled, may_be_empty = columns.label is not None, columns.may_be_empty
    may_be_empty = not is_labelled if may_be_empty is None else may_be_empty
    if not may_be_empty and not all(value.strip() for value in texts):
        raise ValueError("a text is empty")
    if group is not None and not trimmed(group):
        raise ValueError(f"the group in column {columns.group!r} is empty")
    return row, text, pair, parse_label(label) if is_labelled else None, negative, group


def _text(value):
    """Returns a cell as text; None for None."""
    if isinstance(value, list):
        raise ValueError(f"expected a text, not {value!r}")
    if isinstance(value, int | float):
        return json.dumps(value)
    if value is not None and len(value) > _MAX_TEXT:
        raise ValueError(
            f"a text has {len(value):,} characters, expected at most {_MAX_TEXT:,}"
        )
    check_characters("text", value)
    return value


def name_of(value):
    """Returns the label name in a cell, which is a text, a number, true or false.

    Raises:
        ValueError: the cell has another type, or characters that files cannot hold.
    """
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    if not isinstance(value, str):
        raise ValueError(f"the label {value!r} is not a name")
    name = trimmed(value)
    check_characters("label", name)
    return name


def label_key(name):
    """Returns a key that all spellings of a label name share.

    Tables may write a label with ".0" (if another row has no number), as True or true,
    and an accented letter as one character or two.
    """
    name = trimmed(nfc(name))
    if whole := _WHOLE.fullmatch(name):
        return whole[1]
    return name.lower() if name.lower() in ("true", "false") else name


def nfc(name):
    """Normalizes a text to NFC; returns other values unchanged."""
    return unicodedata.normalize("NFC", name) if isinstance(name, str) else name


def number_of(value):
    """Parses a decimal number that float32 can hold.

    Raises:
        ValueError: the cell is not such a number.
    """
    own = trimmed(value)
    is_number = isinstance(own, numbers.Real) and not isinstance(own, bool)
    try:
        is_text = isinstance(own, str) and _NUMBER.fullmatch(own)
        number = float(own) if is_number or is_text else math.nan
    except OverflowError:
        number = math.nan
    if not abs(number) <= float(np.finfo(np.float32).max):
        raise ValueError(f"the label {value!r} is not a number")
    return number


def listed(value):
    """Parses a text that is a JSON or Python list; returns other values unchanged.

    Raises:
        ValueError: the text looks like a list of several values, but is invalid.
    """
    text = trimmed(value)
    if not isinstance(text, str) or (text[:1], text[-1:]) != ("[", "]"):
        return value
    for parse in (parse_json, _python_list) if len(text) < _MAX_LIST else ():
        try:
            return parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    if re.search("[,'\"0-9]", text):
        raise ValueError(
            f'the label {text!r:.80} is not a list that can be read, as ["a", "b"] is'
        )
    return value


def _python_list(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ast.literal_eval(text)
    if repr(found) != text:  # NumPy's ['a' 'b'] would be read as the text "ab"
        raise ValueError
    return found


def trimmed(name):
    """Strips white space around a label; returns other values unchanged."""
    return name.strip(_BLANK) if isinstance(name, str) else name


def check_characters(what, value):
    """Refuses a text that JSON, model or result files cannot hold.

    Args:
        what: "text" or "label"; a label must not contain tabs or line breaks either.
        value: a cell; cells that are not texts pass.

    Raises:
        ValueError: the text contains NUL, a forbidden character or a lone surrogate.
    """
    if not isinstance(value, str):
        return
    if "\0" in value:
        raise ValueError(f"a {what} holds a NUL byte")
    if what == "label" and not {"\t", "\n", "\r"}.isdisjoint(value):
        raise ValueError(f"the label {value!r} holds a tab or a line break")
    try:
        # Fails on invalid UTF-8, and on lone surrogates from JSON.
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"a {what} is not UTF-8") from None


def _records(path, columns):
    """Yields (where, (text, pair, label, negative, group)), or a ValueError."""
    wanted = tuple(getattr(columns, name) for name in _IN_ORDER)
    rows = read_rows(path)
    positions, width = list(wanted), None
    if isinstance(columns.text, int):
        width = max(place for place in wanted if place is not None) + 1
    elif not holds_objects(path):
        _, header = next(rows, (None, None))
        if header is None:
            raise UserError(
                f"{path} is empty; expected a header and one row per example."
            )
        for place, name in enumerate(wanted):
            positions[place] = _position(path, header, name, _IN_ORDER[place])
        width = len(header)
    for where, fields in rows:
        try:
            if isinstance(fields, list) and len(fields) > width:
                raise ValueError(
                    f"the row has {len(fields)} fields, but the table {width} "
                    "column(s); a text with a comma stands in quotation marks in a "
                    "CSV, and one with a tab in no TSV"
                )
            yield where, tuple(_field(fields, position) for position in positions)
        except ValueError as error:
            yield where, error


def _position(path, header, name, use):
    if name is None:
        return None
    header, name = [nfc(own.strip()) for own in header], nfc(name)
    check_once(path, header, [name])
    if name not in header:
        raise UserError(
            f"{path} has no column {name!r} in its first line, the header "
            f"({', '.join(header):.400}); name another with --{use}_column, write a "
            "header above a table that has none or, for a task of GLUE, give the file "
            "as GLUE publishes it."
        )
    return header.index(name)


def _field(fields, position):
    if position is None:
        return None
    if isinstance(fields, ValueError):
        raise fields
    if isinstance(fields, dict) and position not in fields:
        fields, position = {nfc(name): fields[name] for name in fields}, nfc(position)
    try:
        value = fields[position]
    except (IndexError, KeyError):
        by_place = isinstance(position, int)
        place = f"field {position + 1}" if by_place else f"column {position!r}"
        count = len(fields)
        raise ValueError(f"the row lacks {place}; it has {count} field(s)") from None
    if value is None:
        raise ValueError(f"column {position!r} is null")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"column {position!r} is {value}, which is no value")
    if isinstance(value, dict):
        if list(value) == ["choices"]:  # Label Studio's
            return value["choices"]
        raise ValueError(f"column {position!r} holds an object, {value!r}")
    return value


def _stack(labels):
    stacked = np.asarray(labels)
    kind = np.float32 if stacked.dtype.kind == "f" else np.int32
    return stacked.astype(kind)
