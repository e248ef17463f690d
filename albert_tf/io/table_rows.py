"""Rows of TSV, CSV, JSON and Parquet tables, told apart by their suffix in any case.

TSV follows GLUE: no quoting, a quotation mark is an ordinary character. CSV follows
RFC 4180, except that semicolons or tabs may take the place of commas; an unpaired
quotation mark stops the reading, since nobody knows where the next row starts. JSONL
has one object per line, JSON a list of objects; tasks of Label Studio are read as their
data with a `label` or `spans`. Lines end in LF or CRLF; other line ends of Unicode
belong to the text. Blank lines are skipped, except in a TSV or CSV with one column,
where they are empty texts: predictions are matched by their order.
"""

import csv
import io
import itertools
import json
import pathlib
import re

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import json_text
from albert_tf.io.files import parse_json
from albert_tf.io.parquet_rows import MAX_ROW
from albert_tf.io.parquet_rows import SUFFIX as PARQUET
from albert_tf.io.parquet_rows import open_parquet
from albert_tf.io.parquet_rows import rows_of
from albert_tf.io.text_files import BEGINNING
from albert_tf.io.text_files import check_line_ends
from albert_tf.io.text_files import checked_beginning
from albert_tf.io.text_files import opened
from albert_tf.io.text_files import uncompressed

JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
_DELIMITERS = ",;\t"  # of a CSV, the usual one first
_BLOCK = 65_536  # characters of a JSON list that are read at a time
_SPACE = re.compile(r"[ \t\r\n]*")
_MAY_BE_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Half a character, or the escape of one, whose other half may follow."""


def suffix_of(path):
    """Returns the lower-case suffix of a table, without that of its compression."""
    return pathlib.Path(uncompressed(path)).suffix.lower()


def is_table(path):
    """Returns whether a file's name has the suffix of a table, perhaps compressed."""
    return suffix_of(path) in SUFFIXES


def holds_objects(path):
    """Returns whether the rows of a file of this name are objects, not lists."""
    return suffix_of(path) in _OF_OBJECTS


def read_rows(path):
    """Yields (where, fields) for each row of a table, including the header.

    `where` names the file and the line or row, for messages. `fields` is a list; in a
    table that `holds_objects` a dict, or a ValueError for a row that cannot be read or
    written as UTF-8. In TSV and CSV, bytes that are not UTF-8 become surrogates, which
    `check_characters` of `tasks/tables.py` refuses.

    Raises:
        UserError: the file cannot be read, has none of `SUFFIXES`, is no UTF-8 text, or
            has a row of more than `MAX_ROW` characters; see also `open_parquet`.
    """
    if not is_table(path):
        raise UserError(f"{path} must end in one of {', '.join(SUFFIXES)}.")
    if storage.is_remote(path):
        raise UserError(f"{path} is on no disk of this machine; copy it to one.")
    suffix = suffix_of(path)
    with opened(path) as file:
        if suffix in _OF_OBJECTS:
            yield from _OF_OBJECTS[suffix](path, file)
        else:
            yield from _without_blank_lines(_OF_LISTS[suffix](path, file))


def _tsv(path, file):
    for where, text in _lines(path, file):
        yield where, text.split("\t") if text else []


def _csv(path, file):
    csv.field_size_limit(MAX_ROW)  # Python's own limit is 131,072
    first_line, size = 1, 0  # of the row, which may span several lines

    def lines():
        nonlocal size
        for text in _text(path, file):
            size += len(text)
            if size > MAX_ROW:
                raise _too_long(f"{path}, line {first_line}")
            yield text

    rest = lines()
    header = next(rest, "")
    # Otherwise a quotation mark that is never closed swallows the rest of the file.
    reader = csv.reader(
        itertools.chain([header], rest), delimiter=_delimiter(header), strict=True
    )
    try:
        for fields in reader:
            yield f"{path}, line {first_line}", fields
            first_line, size = reader.line_num + 1, 0
    except csv.Error as error:
        raise UserError(
            f"{path}, line {first_line}: the row that starts here is not valid "
            f"CSV ({error}); correct it, and check its quotation marks first."
        ) from error


def _delimiter(header):
    """Returns the delimiter: the comma, unless only another divides the first line.

    The first line decides alone: `csv.Sniffer` guesses from the rows, too, whose texts
    hold any punctuation.
    """

    def count(delimiter):
        try:
            return len(next(csv.reader([header], delimiter=delimiter, strict=True)))
        except csv.Error:  # a quotation mark in a field that only this delimiter makes
            return 0

    return next((mark for mark in _DELIMITERS if count(mark) > 1), _DELIMITERS[0])


def _jsonl(path, file):
    for where, text in _lines(path, file):
        if not text:
            continue
        yield where, _object(text, "line")


def _object(text, what):
    """Parses a row; returns a dict, or a ValueError that describes the problem."""
    try:
        fields = parse_json(text)
        problem = None if isinstance(fields, dict) else "not a JSON object"
        if _MAY_BE_HALF.search(text):
            json_text(fields).encode()
    except UnicodeEncodeError:
        problem = "not UTF-8, or holds half of a surrogate pair"
    except ValueError as error:
        problem = f"not valid JSON ({error})"
    if problem:
        return ValueError(f"the {what} is {problem}")
    try:
        return _of_label_studio(fields) if "annotations" in fields else fields
    except (AttributeError, KeyError, TypeError):
        return fields


def _of_label_studio(task):
    """Turns a task exported by Label Studio into a row: its data and its label."""
    if not isinstance(task["data"], dict):
        return task
    done = [one for one in task["annotations"] if not one.get("was_cancelled")]
    if len(done) > 1:
        return ValueError(f"the task has {len(done)} annotations, expected one")
    row, label, spans = dict(task["data"]), [], []
    for result in done[0]["result"] if done else ():
        if result["type"] == "choices":
            label += result["value"]["choices"]
        elif result["type"] == "labels":
            spans.append(result["value"])
    if label:
        row["label"] = label
    if spans or (done and not label):
        row["spans"] = spans
    return row


def _json(path, file):
    """Yields the objects of a list, or of lines, which may have this suffix, too."""
    beginning = checked_beginning(path, file).removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.partition(b"\n")[0].strip() == b"{":
        raise UserError(
            f"{path} holds one object, and no table: expected a list of objects, or an "
            "object on each line."
        )
    if not beginning.startswith(b"["):
        yield from _jsonl(path, file)
        return
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape") as text:
        for row, element in enumerate(_elements(path, text), 1):
            yield f"{path}, row {row}", _object(element, "row")


def _elements(path, text):
    """Yields the JSON text of each element of a list; reads the file piece by piece."""
    decoder, found, row = json.JSONDecoder(), text.read(BEGINNING), 1
    place, size = _SPACE.match(found).end() + 1, _BLOCK
    while True:
        place = _SPACE.match(found, place).end()
        if found[place : place + 1] == "]":
            if (found[place + 1 :] + text.read(_BLOCK)).strip():
                raise UserError(f"{path} has more behind its list; expected one list.")
            return
        try:
            end = decoder.raw_decode(found, place)[1]
            behind = _SPACE.match(found, end).end()
        except (ValueError, RecursionError):
            behind = len(found)
        if found[behind : behind + 1] in (",", "]") and behind < len(found):
            yield found[place:end]
            place, size, row = behind + (found[behind] == ","), _BLOCK, row + 1
            continue
        if len(found) - place > MAX_ROW:
            raise _too_long(f"{path}, row {row}")
        more = text.read(size)
        if not more:
            raise UserError(
                f"{path}, row {row} is not valid JSON; expected a list of objects."
            )
        found, place, size = found[place:] + more, 0, 2 * size


def _parquet(path, file):
    table = open_parquet(path, file)
    yield from rows_of(path, table, 0, table.metadata.num_rows)


def _lines(path, file):
    """Yields (where, text without its line end)."""
    for line, text in enumerate(_text(path, file), 1):
        yield f"{path}, line {line}", text.rstrip("\r\n")


def _text(path, file):
    """Yields the lines of an open file with their ends, and closes it."""
    check_line_ends(path, checked_beginning(path, file))
    # Wrong bytes become surrogates, which the reader of a row refuses.
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="\n") as text:
        for number in itertools.count(1):
            line = text.readline(MAX_ROW + 1)
            if len(line) > MAX_ROW:
                raise _too_long(f"{path}, line {number}")
            if not line:
                return
            yield line


def _too_long(where):
    return UserError(
        f"{where}: the row has more than {MAX_ROW:,} characters; cut its text, or "
        "leave it out."
    )


def _without_blank_lines(rows):
    """Skips blank lines, unless the header has only one column."""
    columns = 0
    for where, fields in rows:
        columns = columns or len(fields)
        if fields:
            yield where, fields
        elif columns == 1:
            yield where, [""]


_OF_LISTS = {".tsv": _tsv, ".csv": _csv}
_OF_OBJECTS = {**dict.fromkeys(JSON_LINES, _jsonl), ".json": _json, PARQUET: _parquet}
"""By suffix, the reader: a function of the path and the open file."""

OBJECTS = tuple(_OF_OBJECTS)
SUFFIXES = (*_OF_LISTS, *OBJECTS)
