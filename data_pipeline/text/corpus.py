"""Reads documents from text files, as a stream, a share of the corpus at a time.

A corpus is a list of files. Formats:

* lines: the official one. A sentence a line, a blank line between documents.
* paragraphs: a paragraph a line, a blank line between documents; sentences are
  split here.
* jsonl: one JSON object a line, one document each, in its text field; sentences
  are split here.

Any of them may be compressed (`.gz`); suffixes count in any case. The end of a file
ends a document. Share k of n holds the documents that start in the k-th of n equal
parts of all bytes; a compressed file cannot be entered in the middle and belongs to one
share whole.

Functions import TensorFlow, which opens files here and in buckets, themselves: the
commands import this module for their options, and --help does not wait.
"""

import collections
import gzip
import json
import zlib

from albert_tf.errors import UserError
from albert_tf.io.near_misses import did_you_mean
from albert_tf.io.table_rows import JSON_LINES
from albert_tf.io.text_files import check_beginning
from albert_tf.io.text_files import check_line_ends
from data_pipeline.text import input_files
from data_pipeline.text.sentences import split_sentences

FORMATS = ["auto", "lines", "paragraphs", "jsonl"]
FORMAT_HELP = (
    "Layout of the text. lines: one sentence per line; paragraphs: one paragraph per "
    "line, which the command splits into sentences; both have a blank line between "
    "documents. jsonl: one document per line, in --text_field. auto: jsonl for files "
    f"named {', '.join(JSON_LINES)} or .json, lines for all others."
)
MAX_SEGMENT_BYTES = 8192
_BLOCK_BYTES = 2**20
INVALID = "lines with invalid UTF-8"
WITHOUT_TEXT = "json lines without the text field"
_MAX_LINE_BYTES = {"lines": 2**20, "paragraphs": 2**20, "jsonl": 2**26}
# A longer document is cut, so that memory does not depend on the corpus.
_MAX_DOCUMENT_CHARACTERS = 2**22

File = collections.namedtuple("File", "path size")
Document = collections.namedtuple("Document", "segments key")


def find_files(patterns):
    """Resolves a comma list of file names, globs and directories.

    Returns:
        A list of `File(path, size)`, in the order of the patterns, each sorted; a
        file that several patterns or links lead to is there once. Folders are read
        with the folders in them.

    Raises:
        UserError: a pattern matches no file, one is a pipe, a device or no text, or
            all files are empty.
    """
    import tensorflow as tf

    paths = []
    for pattern in input_files.split(patterns):
        found = input_files.of_pattern(pattern)
        if not found:
            meant = did_you_mean(pattern) or "; name a file, a glob or a folder."
            raise UserError(f"No input file matches {pattern!r}{meant}")
        paths.extend(found)
    files = []
    for path in input_files.each_once(paths):
        input_files.require_regular(path)
        input_files.require_text(path)
        files.append(File(path, tf.io.gfile.stat(path).length))
    if not sum(file.size for file in files):
        raise UserError(f"The input {patterns!r} is empty: there is no text to read.")
    return files


def format_of(path, input_format):
    """The format of a file: `input_format`, or what "auto" makes of its name."""
    if input_format != "auto":
        return input_format
    name = path.lower().removesuffix(".gz")
    return "jsonl" if name.endswith((*JSON_LINES, ".json")) else "lines"


class Reader:
    """Streams the documents of a corpus.

    Args:
        files: list of `File`, from `find_files`.
        input_format: one of `FORMATS`; see `format_of`.
        text_field: the field of a JSON line that holds the text.

    Attributes:
        bytes_read: how far `documents` has come, in bytes of the files.
        counts: a Counter of what had to be repaired or left out; of `INVALID` and
            `WITHOUT_TEXT` also for each file, as "INVALID in its path".
    """

    def __init__(self, files, input_format="auto", text_field="text"):
        self._files = files
        self._input_format = input_format
        self._text_field = text_field
        self._path = None  # of the file that is read
        self.bytes_read = 0
        self.counts = collections.Counter()

    def documents(self, share, num_shares):
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
            if not _is_compressed(file.path):
                yield from self._file_documents(number, file, low, high)
            elif low == 0:
                yield from self._file_documents(number, file, 0, float("inf"))
            self.bytes_read = before + high - low

    def _file_documents(self, number, file, low, high):
        import tensorflow as tf

        self._path = file.path
        input_format = format_of(file.path, self._input_format)
        lines = self._lines(file.path, low, input_format)
        if input_format == "jsonl":
            documents = self._json_documents(lines, high)
        else:
            documents = self._text_documents(lines, low, high, input_format)
        try:
            for position, segments in documents:
                if segments:
                    yield Document(segments, f"{number}:{position}")
        except (OSError, EOFError, zlib.error, tf.errors.OpError) as error:
            reason = getattr(error, "message", None) or error
            raise UserError(
                f"{file.path} cannot be read: {reason}; mend the file or leave it out."
            ) from error

    def _count(self, problem):
        self.counts[problem] += 1
        self.counts[f"{problem} in {self._path}"] += 1

    def _json_documents(self, lines, high):
        for position, line in lines:
            if position >= high:
                return
            if not line.strip():
                continue
            try:
                text = json.loads(line)[self._text_field]
            except (ValueError, KeyError, TypeError, RecursionError):
                text = None
            if not isinstance(text, str):
                self._count(WITHOUT_TEXT)
                continue
            paragraphs = filter(str.strip, self._encodable(text).split("\n"))
            segments = [s for p in paragraphs for s in split_sentences(p)]
            yield position, [part for s in segments for part in self._cut(s)]

    def _encodable(self, text):
        r"""Replaces halves of surrogate pairs, which JSON can hold as \ud83d."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            self._count(INVALID)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _text_documents(self, lines, low, high, input_format):
        """A document belongs to the share in which the blank line before it starts."""
        split = split_sentences if input_format == "paragraphs" else _as_one
        position, segments, characters = 0, [], 0
        skipping = low > 0
        for line_position, line in lines:
            text = line.strip()
            if text and skipping:
                continue
            if text:
                segments += [part for s in split(text) for part in self._cut(s)]
                characters += len(text)
            if not text or characters > _MAX_DOCUMENT_CHARACTERS:
                yield position, segments
                position, segments, characters = line_position, [], 0
                skipping = False
            if not text and line_position >= high:
                return
        yield position, segments

    def _cut(self, segment):
        """Cuts a segment that is too long for a sentence, at spaces if it can."""
        if len(segment) <= MAX_SEGMENT_BYTES // 4:
            return [segment]
        data = segment.encode("utf-8")
        if len(data) <= MAX_SEGMENT_BYTES:
            return [segment]
        self.counts["segments cut because they are very long"] += 1
        parts = []
        while data:
            end = _cut_point(data, MAX_SEGMENT_BYTES)
            parts.append(data[:end].decode("utf-8").strip())
            data = data[end:]
        return [part for part in parts if part]

    def _lines(self, path, start, input_format):
        """Yields the position and the text of every line that starts from `start`."""
        limit = _MAX_LINE_BYTES[input_format]
        position = max(0, start - 1)
        tail = b""
        with _open(path, position) as stream:
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
            self._count(INVALID)
            text = line.decode("utf-8", "replace")
        return text.removeprefix("\ufeff") if position == 0 else text


def _is_compressed(path):
    return path.lower().endswith(".gz")


def _open(path, position):
    import tensorflow as tf

    if _is_compressed(path):
        return gzip.GzipFile(fileobj=tf.io.gfile.GFile(path, "rb"))
    stream = tf.io.gfile.GFile(path, "rb")
    stream.seek(position)
    return stream


def _as_one(text):
    return [text]


def _cut_point(data, limit):
    """Where to cut: after the last space within `limit`, or between characters."""
    if len(data) <= limit:
        return len(data)
    space = data.rfind(b" ", 1, limit)
    if space > 0:
        return space + 1
    end = limit
    while end > limit - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
