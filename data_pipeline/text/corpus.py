"""Reader of documents from text files, as a stream, a share of the corpus at a time.

A corpus is a list of files, each in one of `FORMATS`. Any of them may be compressed
(`COMPRESSED`); suffixes count in any case. The end of a file ends a document. Share k
of n holds the documents that start in the k-th of n equal parts of all bytes; a
compressed file cannot be entered in the middle and belongs to one share whole.

Functions import TensorFlow, which opens files in buckets, themselves: the commands
import this module for their options, and --help does not wait.
"""

import collections
import dataclasses
import functools
import re
import typing
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io import parquet_rows
from albert_tf.io.files import RepeatedNameError
from albert_tf.io.files import parse_json
from albert_tf.io.table_rows import JSON_LINES
from albert_tf.io.text_files import check_beginning
from albert_tf.io.text_files import check_line_ends
from albert_tf.io.text_files import is_compressed
from albert_tf.io.text_files import opened
from albert_tf.io.text_files import uncompressed
from data_pipeline.text import input_files

MAX_SEGMENT_BYTES = 8192
_BLOCK_BYTES = 1_048_576
INVALID = "lines with invalid UTF-8"

WITHOUT_TEXT = "json lines without the text field"
_MAX_LINE_BYTES, _MAX_JSON_BYTES = 1_048_576, 67_108_864
# A longer document is cut, so that memory does not depend on the corpus.
_MAX_DOCUMENT_CHARACTERS = 4_194_304
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


File = collections.namedtuple("File", "path size")
Document = collections.namedtuple("Document", "segments key")


class Format(typing.NamedTuple):
    """A format of a corpus.

    `documents(reader, file, low, high)` yields the place and the segments of each
    document that starts within these bytes; the `Reader` reads and cuts its text.
    """

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


def split_sentences(paragraph: str) -> list[str]:
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


def format_of(path: str, input_format: str) -> str:
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFlags:
    """The text."""

    input_file: str = option(
        "Text files to read: names, globs and folders, separated by commas."
    )
    input_format: str = option(_help(), "auto", ["auto", *FORMATS])
    text_field: str = option(
        "Field that holds the text in JSON lines, or column in Parquet.", "text"
    )

    def files(self) -> list[File]:
        """Returns the list of `find_files`."""
        return find_files(self.input_file)

    def reader(self, files: list[File]) -> "Reader":
        """Returns a `Reader` of some of the files."""
        return Reader(files, self.input_format, self.text_field)


def find_files(patterns: str) -> list[File]:
    """Finds the files of `patterns`; a folder stands for everything below it.

    Returns:
        A list of `File(path, size)`.

    Raises:
        UserError: as `input_files.find`; or all files are empty.
    """
    import tensorflow as tf

    paths = input_files.find(patterns, input_files.of_pattern, "input file")
    files = [File(path, tf.io.gfile.stat(path).length) for path in paths]
    if not sum(file.size for file in files):
        raise UserError(f"The input {patterns!r} is empty: there is no text to read.")
    return files


class Reader:
    """Streams the documents of a corpus.

    Args:
        files: list of `File`, from `find_files`.
        input_format: "auto" or one of `FORMATS`.
        text_field: the field of a JSON line, or column of Parquet, with the text.

    Attributes:
        bytes_read: how far `documents` has come, in bytes of the files.
        counts: a Counter of repairs and omissions; of `INVALID` and a format's own also
            for each file, as "INVALID in its path".
    """

    def __init__(
        self, files: list[File], input_format: str = "auto", text_field: str = "text"
    ) -> None:
        self._files = files
        self._input_format = input_format
        self.text_field = text_field
        self._path = None  # of the file that is read
        self.bytes_read = 0
        self.counts = collections.Counter()

    def documents(self, share: int, num_shares: int) -> Iterator[Document]:
        """Yields `Document(segments, key)`: list of str, and a str that names it.

        The key depends on the document's place in the corpus alone.

        Raises:
            UserError: a file cannot be read.
        """
        total = sum(file.size for file in self._files)
        first = total * share // num_shares
        last = total * (share + 1) // num_shares
        base = 0
        for number, file in enumerate(self._files):
            low, high = max(0, first - base), min(file.size, last - base)
            base += file.size
            if low >= high:
                continue
            before = self.bytes_read
            if not is_compressed(file.path):
                yield from self._file_documents(number, file, low, high)
            elif low == 0:
                yield from self._file_documents(number, file, 0, float("inf"))
            self.bytes_read = before + high - low

    def _file_documents(self, number, file, low, high):
        self._path = file.path
        form = FORMATS[format_of(file.path, self._input_format)]
        for place, segments in form.documents(self, file, low, high):
            if segments:
                yield Document(segments, f"{number}:{place}")

    def count(self, problem: str) -> None:
        """Counts repairs and omissions in the file that is read."""
        self.counts[problem] += 1
        self.counts[f"{problem} in {self._path}"] += 1

    def segments_of(self, text: str) -> list[str]:
        """Splits a document, a paragraph a line, into sentences."""
        paragraphs = filter(str.strip, self._encodable(text).split("\n"))
        return self.cut(s for p in paragraphs for s in split_sentences(p))

    def cut(self, sentences: Iterable[str]) -> list[str]:
        """Returns the sentences, those that are too long in several parts."""
        return [part for s in sentences for part in self._cut(s)]

    def _encodable(self, text):
        r"""Replaces halves of surrogate pairs, which JSON can hold as \ud83d."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            self.count(INVALID)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _cut(self, segment):
        """Cuts a segment that is too long for a sentence, at spaces if it can."""
        if len(segment) <= MAX_SEGMENT_BYTES // 4:
            return [segment]
        data = segment.encode("utf-8")
        if len(data) <= MAX_SEGMENT_BYTES:
            return [segment]
        self.counts["segments cut because they are very long"] += 1
        parts, start = [], 0
        while start < len(data):
            # One byte more shows whether the rest is within the limit.
            following = data[start : start + MAX_SEGMENT_BYTES + 1]
            end = start + _cut_point(following, MAX_SEGMENT_BYTES)
            parts.append(data[start:end].decode("utf-8").strip())
            start = end
        return [part for part in parts if part]

    def lines(self, path: str, start: int, limit: int) -> Iterator[tuple[int, str]]:
        """Yields the position and the text of every line that starts from `start`.

        A line of more than `limit` bytes is cut.
        """
        position = max(0, start - 1)
        tail = b""
        with opened(path, position) as stream:
            while block := stream.read(_BLOCK_BYTES):
                self.bytes_read += len(block)
                if position == 0:
                    check_beginning(path, block)
                    check_line_ends(path, block)
                lines = (tail + block).split(b"\n")
                tail = lines.pop()
                for line in lines:
                    if position >= start:
                        yield position, self._decode(line, position)
                    position += len(line) + 1
                if len(tail) > limit:
                    end = _cut_point(tail, limit)
                    if position >= start:
                        yield position, self._decode(tail[:end], position)
                    position += end
                    tail = tail[end:]
        if tail and position >= start:
            yield position, self._decode(tail, position)

    def _decode(self, line, position):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            self.count(INVALID)
            text = line.decode("utf-8", "replace")
        return text.removeprefix("\ufeff") if position == 0 else text


def _cut_point(data, limit):
    """Returns where to cut: after the last space within `limit`, or at a character."""
    if len(data) <= limit:
        return len(data)
    space = data.rfind(b" ", 1, limit)
    if space > 0:
        return space + 1
    end = limit
    while end > limit - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
