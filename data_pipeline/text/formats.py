"""The formats of a corpus, each with its own reader of documents.

A format has `help`, its part of the flag's; `suffixes`, the names of files that "auto"
takes for it; `is_text`, whether its files are UTF-8; and `documents(reader, file, low,
high)`, which yields (its place in the file, segments) of each document that starts
within these bytes, read and cut by a `corpus.Reader`.
"""

import json

from albert_tf.io.table_rows import JSON_LINES
from data_pipeline.text.parquet_documents import ParquetDocuments
from data_pipeline.text.sentences import split_sentences

WITHOUT_TEXT = "json lines without the text field"
# A longer document is cut, so that memory does not depend on the corpus.
_MAX_DOCUMENT_CHARACTERS = 2**22


class Lines:
    """The official format: a sentence a line, a blank line between documents."""

    help = "lines: one sentence per line;"
    suffixes = ()
    is_text = True
    _max_line_bytes = 2**20

    def documents(self, reader, file, low, high):
        """Yields the share's documents; the blank line before one decides."""
        position, segments, characters = 0, [], 0
        skipping = low > 0
        for line_position, line in reader.lines(file.path, low, self._max_line_bytes):
            text = line.strip()
            if text and skipping:
                continue
            if text:
                segments += reader.cut(self._sentences(text))
                characters += len(text)
            if not text or characters > _MAX_DOCUMENT_CHARACTERS:
                yield position, segments
                position, segments, characters = line_position, [], 0
                skipping = False
            if not text and line_position >= high:
                return
        yield position, segments

    def _sentences(self, text):
        return [text]


class Paragraphs(Lines):
    """A paragraph a line, a blank line between documents; sentences are split here."""

    help = (
        "paragraphs: one paragraph per line, which the command splits into sentences; "
        "both have a blank line between documents."
    )

    def _sentences(self, text):
        return split_sentences(text)


class JsonLines:
    """One JSON object a line, one document each; sentences are split here."""

    help = "jsonl: one document per line, in --text_field."
    suffixes = (*JSON_LINES, ".json")
    is_text = True
    _max_line_bytes = 2**26

    def documents(self, reader, file, low, high):
        """Yields the share's documents; the start of its line decides for each."""
        for position, line in reader.lines(file.path, low, self._max_line_bytes):
            if position >= high:
                return
            if not line.strip():
                continue
            try:
                text = json.loads(line)[reader.text_field]
            except (ValueError, KeyError, TypeError, RecursionError):
                text = None
            if not isinstance(text, str):
                reader.count(WITHOUT_TEXT)
                continue
            yield position, reader.segments_of(text)


FORMATS = {
    "lines": Lines(),
    "paragraphs": Paragraphs(),
    "jsonl": JsonLines(),
    "parquet": ParquetDocuments(),
}
NAMES = ["auto", *FORMATS]


def format_of(path, input_format):
    """Returns the format of a file: `input_format`, or by its name for "auto"."""
    if input_format != "auto":
        return input_format
    name = path.lower().removesuffix(".gz")
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
TEXT_FIELD_HELP = "Field that holds the text in JSON lines, or column in Parquet."
