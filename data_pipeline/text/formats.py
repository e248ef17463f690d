"""The formats of a corpus, each with its own reader of documents.

`documents(reader, file, low, high)` of a format yields (its place in the file,
segments) of each document that starts within these bytes, read and cut by a
`corpus.Reader`.
"""

import functools
import re
import typing
from collections.abc import Callable

from albert_tf.errors import UserError
from albert_tf.io import parquet_rows
from albert_tf.io.files import RepeatedNameError
from albert_tf.io.files import parse_json
from albert_tf.io.table_rows import JSON_LINES
from albert_tf.io.text_files import opened
from albert_tf.io.text_files import uncompressed

WITHOUT_TEXT = "json lines without the text field"
_MAX_LINE_BYTES, _MAX_JSON_BYTES = 2**20, 2**26
# A longer document is cut, so that memory does not depend on the corpus.
_MAX_DOCUMENT_CHARACTERS = 2**22
_CLOSING = "\"'”’)\\]»"
_CHINESE_CLOSING = "”’」』）》\"'"
# Several marks in a row end a sentence together or not at all.
_END = re.compile(
    rf"(?<![.!?])[.!?]+[{_CLOSING}]*\s+(?=[\"'“‘(\[«]*[A-Z0-9À-ÖØ-Þ])"
    rf"|(?:[。！？；]|……)+[{_CHINESE_CLOSING}]*\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“])"
    r"(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Sgt|Capt|Rev|Hon|No|Vol|vs|"
    r"Inc|Ltd|Co|Corp|Fig|al|etc|cf|e\.g|i\.e|ca|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|"
    r"Sep|Sept|Oct|Nov|Dec|(?:[A-Z]\.)+[A-Z])\.\s+$"
)
TEXT_FIELD_HELP = "Field that holds the text in JSON lines, or column in Parquet."


class Format(typing.NamedTuple):
    """A format of a corpus, with its reader of documents."""

    documents: Callable
    help: str  # its part of the flag's
    suffixes: tuple[str, ...] = ()  # of files that "auto" takes for it


def _lines(sentences, reader, file, low, high):
    """Yields the documents whose preceding blank line lies within the bounds.

    A blank line stands between documents; `sentences` cuts any other line.
    """
    position, segments, characters = 0, [], 0
    skipping = low > 0
    for line_position, line in reader.lines(file.path, low, _MAX_LINE_BYTES):
        text = line.strip()
        if text and skipping:
            continue
        if text:
            segments += reader.cut(sentences(text))
            characters += len(text)
        if not text or characters > _MAX_DOCUMENT_CHARACTERS:
            yield position, segments
            position, segments, characters = line_position, [], 0
            skipping = False
        if not text and line_position >= high:
            return
    yield position, segments


def _json_lines(reader, file, low, high):
    """Yields the documents, an object a line, that start within the bounds."""
    for position, line in reader.lines(file.path, low, _MAX_JSON_BYTES):
        if position >= high:
            return
        if not line.strip():
            continue
        try:
            text = parse_json(line)[reader.text_field]
        except RepeatedNameError as error:
            raise UserError(
                f"{file.path}, the line at byte {position}: {error}; correct it, or "
                "leave it out."
            ) from error
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            reader.count(WITHOUT_TEXT)
            continue
        yield position, reader.segments_of(text)


def _parquet(reader, file, low, high):
    """Yields the rows within the bounds, as if all rows had the same size."""
    with opened(file.path) as stream:
        table = parquet_rows.open_parquet(file.path, stream)
        count = table.metadata.num_rows
        first = -(-low * count // file.size)
        last = -(-min(high, file.size) * count // file.size)
        columns = [reader.text_field]
        rows = parquet_rows.rows_of(file.path, table, first, last, columns)
        before = reader.bytes_read
        for row, (where, fields) in enumerate(rows, first):
            reader.bytes_read = before + file.size * (row - first) // count
            yield row, reader.segments_of(_text(where, fields, reader.text_field))


def _text(where, fields, name):
    if isinstance(fields, ValueError):
        raise UserError(f"{where}: {fields}; correct the row, or leave it out.")
    if not isinstance(fields[name], str):
        raise UserError(
            f"{where}: expected a text in {name!r}, got {fields[name]!r}; correct the "
            "row, or leave it out."
        )
    return fields[name]


def split_sentences(paragraph):
    """Returns the sentences of `paragraph`, a list of str without outer spaces.

    A full stop ends a sentence before white space and a capital or digit, unless an
    abbreviation or an initial precedes it; Chinese punctuation ends one anywhere.
    """
    sentences = []
    start = 0
    for match in _END.finditer(paragraph):
        if _ABBREVIATION.search(paragraph[max(start, match.end() - 16) : match.end()]):
            continue
        sentences.append(paragraph[start : match.end()].strip())
        start = match.end()
    rest = paragraph[start:].strip()
    return [*sentences, rest] if rest else sentences


FORMATS = {
    # The official format.
    "lines": Format(
        functools.partial(_lines, lambda line: [line]), "lines: one sentence per line;"
    ),
    "paragraphs": Format(
        functools.partial(_lines, split_sentences),
        "paragraphs: one paragraph per line, which the command splits into sentences; "
        "both have a blank line between documents.",
    ),
    "jsonl": Format(
        _json_lines,
        "jsonl: one document per line, in --text_field.",
        (*JSON_LINES, ".json"),
    ),
    "parquet": Format(
        _parquet,
        "parquet: one document per row, in the column --text_field.",
        (parquet_rows.SUFFIX,),
    ),
}
NAMES = ["auto", *FORMATS]


def format_of(path, input_format):
    """Returns the format of a file: `input_format`, or by its name for "auto"."""
    if input_format != "auto":
        return input_format
    name = uncompressed(path).lower()
    return next((n for n, f in FORMATS.items() if name.endswith(f.suffixes)), "lines")


def _help():
    formats = " ".join(form.help for form in FORMATS.values())
    named = [
        f"{name} for files named {', '.join(form.suffixes)}"
        for name, form in FORMATS.items()
        if form.suffixes
    ]
    return f"Layout of the text. {formats} auto: {'; '.join(named)}; lines for others."


HELP = _help()
