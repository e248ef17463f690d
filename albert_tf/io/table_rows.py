"""The rows of TSV, CSV, JSONL and Parquet tables; suffixes tell which, in any case.

TSV follows GLUE: no quoting, a quotation mark is an ordinary character. CSV follows
RFC 4180; quotation marks that do not pair always stop the reading, since where the next
row starts is then unknown. JSONL has one object per line. Lines end in LF or CRLF only
(the other line ends of Unicode are part of a text). Blank lines are left out, but in a
TSV or CSV of one column they are rows with an empty text: predictions are matched with
the file by their order.
"""

import csv
import gzip
import io
import pathlib
import re
import zlib

from albert_tf.errors import UserError
from albert_tf.io.files import json_text
from albert_tf.io.files import parse_json
from albert_tf.io.files import unreadable
from albert_tf.io.parquet_rows import SUFFIX as PARQUET
from albert_tf.io.parquet_rows import open_parquet
from albert_tf.io.parquet_rows import rows_of
from albert_tf.io.text_files import check_line_ends
from albert_tf.io.text_files import checked_beginning

JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
_MAX_FIELD = 2**31 - 1  # characters; Python's own limit for CSV is 131,072
_MAY_BE_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Half a character, or the escape of one, whose other half may follow."""


def suffix_of(path):
    """Returns the suffix of a file's name in small letters, such as ".csv"."""
    return pathlib.Path(path).suffix.lower()


def is_table(path):
    """Returns whether a file's name ends as a table's, perhaps compressed (.gz)."""
    return suffix_of(_uncompressed(path)) in SUFFIXES


def holds_objects(path):
    """Returns whether a file's name says that its rows name their fields themselves."""
    return suffix_of(_uncompressed(path)) in _OF_OBJECTS


def read_rows(path):
    """Yields (where, fields) of each row of a table, the header included.

    Where is the file with the line or row, for messages. Fields are a list, or a dict
    where the table `holds_objects`; a ValueError where a row of these cannot be read or
    could not be written again as UTF-8. In TSV and CSV, bytes that are not UTF-8 become
    half characters, which `check_characters` of `tasks/tables.py` refuses.

    A name that ends in .gz is of a compressed table.

    Raises:
        UserError: the file cannot be read, has another suffix than `SUFFIXES`, or is
            no UTF-8 text altogether or has no lines, as `text_files` says; or it is
            Parquet, and as `open_parquet` and `rows_of`.
    """
    if not is_table(path):
        raise UserError(f"{path} must end in one of {', '.join(SUFFIXES)}.")
    name = _uncompressed(path)
    suffix = suffix_of(name)
    try:
        with (open if name == str(path) else gzip.open)(path, "rb") as file:
            if holds_objects(name):
                yield from _OF_OBJECTS[suffix](path, file)
            else:
                yield from _without_blank_lines(_OF_LISTS[suffix](path, file))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is no whole gzip archive ({error}).") from error
    except OSError as error:
        raise unreadable(path, error) from error


def _uncompressed(path):
    """Returns the name of a file without a .gz at its end."""
    return re.sub(r"\.gz$", "", str(path), flags=re.IGNORECASE)


def _tsv(path, file):
    for where, text in _lines(path, file):
        yield where, text.split("\t") if text else []


def _csv(path, file):
    csv.field_size_limit(_MAX_FIELD)
    # Otherwise a quotation mark that is never closed swallows the rest of the file.
    reader = csv.reader(_text(path, file), strict=True)
    first_line = 1  # of the row, which may span several
    try:
        for fields in reader:
            yield f"{path}, line {first_line}", fields
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}, line {first_line}: the row that starts here is not valid "
            f"CSV ({error}); correct it, and check its quotation marks first."
        ) from error


def _jsonl(path, file):
    for where, text in _lines(path, file):
        if not text:
            continue
        try:
            fields = parse_json(text)
            problem = None if isinstance(fields, dict) else "not a JSON object"
            if _MAY_BE_HALF.search(text):
                json_text(fields).encode()
        except UnicodeEncodeError:
            problem = "not UTF-8, or holds half of a surrogate pair"
        except ValueError as error:
            problem = f"not valid JSON ({error})"
        yield where, ValueError(f"the line is {problem}") if problem else fields


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
    # Wrong bytes become characters that the reader of a row finds in it.
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="\n") as text:
        yield from text


def _without_blank_lines(rows):
    """Leaves out lines without a field, unless the header has only one column."""
    columns = 0
    for where, fields in rows:
        columns = columns or len(fields)
        if fields:
            yield where, fields
        elif columns == 1:
            yield where, [""]


_OF_LISTS = {".tsv": _tsv, ".csv": _csv}
_OF_OBJECTS = {**dict.fromkeys(JSON_LINES, _jsonl), PARQUET: _parquet}
"""By suffix, how a table is read: its path and open file give (where, fields)."""

OBJECTS = tuple(_OF_OBJECTS)
SUFFIXES = (*_OF_LISTS, *OBJECTS)
