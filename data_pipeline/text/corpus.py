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

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.text_files import check_beginning
from albert_tf.io.text_files import check_line_ends
from albert_tf.io.text_files import is_compressed
from albert_tf.io.text_files import opened
from data_pipeline.text import formats
from data_pipeline.text import input_files
from data_pipeline.text.formats import FORMATS
from data_pipeline.text.formats import format_of
from data_pipeline.text.formats import split_sentences

MAX_SEGMENT_BYTES = 8192
_BLOCK_BYTES = 2**20
INVALID = "lines with invalid UTF-8"

File = collections.namedtuple("File", "path size")
Document = collections.namedtuple("Document", "segments key")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFlags:
    """The text."""

    input_file: str = option(
        "Text files to read: names, globs and folders, separated by commas."
    )
    input_format: str = option(formats.HELP, "auto", formats.NAMES)
    text_field: str = option(formats.TEXT_FIELD_HELP, "text")

    def files(self):
        """Returns the list of `find_files`."""
        return find_files(self.input_file)

    def reader(self, files):
        """Returns a `Reader` of some of the files."""
        return Reader(files, self.input_format, self.text_field)


def find_files(patterns):
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
        input_format: one of `formats.NAMES`; see `format_of`.
        text_field: the field of a JSON line, or column of Parquet, with the text.

    Attributes:
        bytes_read: how far `documents` has come, in bytes of the files.
        counts: a Counter of repairs and omissions; of `INVALID` and a format's own also
            for each file, as "INVALID in its path".
    """

    def __init__(self, files, input_format="auto", text_field="text"):
        self._files = files
        self._input_format = input_format
        self.text_field = text_field
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

    def count(self, problem):
        """Counts repairs and omissions in the file that is read."""
        self.counts[problem] += 1
        self.counts[f"{problem} in {self._path}"] += 1

    def segments_of(self, text):
        """Splits a document, a paragraph a line, into sentences."""
        paragraphs = filter(str.strip, self._encodable(text).split("\n"))
        return self.cut(s for p in paragraphs for s in split_sentences(p))

    def cut(self, sentences):
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

    def lines(self, path, start, limit):
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
