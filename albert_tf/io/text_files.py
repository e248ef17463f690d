"""Text files in UTF-8, with or without a byte order mark; no encoding is guessed.

Lines end in LF or CRLF; a single CR and Unicode's other line ends belong to the text.
A file whose name ends in one of `COMPRESSED`, in any case, is decompressed.
"""

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import pathlib
import zlib

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io import storage
from albert_tf.io.files import parse_json_of
from albert_tf.io.files import unreadable

BEGINNING = 65_536
"""Bytes that `check_beginning` needs to tell a file's kind."""

HOW_TO_CONVERT = "for example with iconv -f GBK -t UTF-8, or -f LATIN1"

# UTF-32's little-endian mark begins with UTF-16's, so it comes first.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_NO_TEXT = {
    b"\x1f\x8b": "a gzip archive; decompress it",
    b"BZh91AY&SY": "a bzip2 archive; decompress it",
    b"\xfd7zXZ\0": "an xz archive; decompress it",
    b"\x28\xb5\x2f\xfd": "a zstd archive; decompress it",
    b"PK\3\4": "a zip archive, or a document in one; extract its text",
    b"%PDF-": "a PDF; extract its text",
}
_MANY_NULS = 0.3  # in UTF-16 without a mark half of English is NUL
_MAX_BYTES = 1_073_741_824  # of a file read whole; a compressed one may hold any number


def _zstd(file):
    with of_extra("parquet", ".zst files need the package pyarrow"):
        import pyarrow as pa
    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


_DECOMPRESSORS = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstd,
}
COMPRESSED = tuple(_DECOMPRESSORS)


def uncompressed(path):
    """Returns a file's name without the suffix of its compression."""
    path = str(path)
    return path[: -len(ending)] if (ending := _compression(path)) else path


def is_compressed(path):
    """Returns whether a file's name says that it is compressed."""
    return bool(_compression(path))


def _compression(path):
    suffix = pathlib.PurePath(path).suffix.lower()
    return suffix if suffix in COMPRESSED else ""


@contextlib.contextmanager
def opened(path, position=0):
    """Opens a file for bytes, decompressed if need be.

    Args:
        path: a file on a disk or in a bucket.
        position: the place to start from, in bytes; only for uncompressed files.

    Raises:
        UserError: here or later in the `with` block: the file is a pipe or a device,
            cannot be read, or is damaged.
    """
    try:
        with storage.opened(path) as file:
            if ending := _compression(path):
                with _DECOMPRESSORS[ending](file) as stream:
                    yield io.BufferedReader(stream, BEGINNING)
            else:
                file.seek(position)
                yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise unreadable(path, error) from error


def check_beginning(path, data):
    """Refuses a file that is no UTF-8 text: UTF-16, UTF-32, an archive, a picture.

    Args:
        path: the file, for messages.
        data: its first `BEGINNING` bytes, or all of them.
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            raise UserError(
                f"{path} is {name}, expected UTF-8; convert it, for example with "
                f"iconv -f {name} -t UTF-8."
            )
    for mark, kind in _NO_TEXT.items():
        if data.startswith(mark):
            raise UserError(f"{path} is no text but {kind}, or leave the file out.")
    data = data[:BEGINNING]
    nuls = data.count(b"\0")
    if nuls and (nuls > _MANY_NULS * len(data) or not _begins_utf8(data)):
        raise UserError(
            f"{path} is no text in UTF-8: {nuls} of its first {len(data)} bytes are "
            "NUL, as in pictures, archives and UTF-16; convert it, or leave it out."
        )


def checked_beginning(path, file):
    """Checks and returns the first bytes of a file, and stays at its beginning."""
    data = file.peek(BEGINNING)
    check_beginning(path, data)
    return data


def _begins_utf8(data):
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def check_line_ends(path, data):
    """Refuses lines that end with CR alone, which would be read as one line.

    The arguments are those of `check_beginning`.
    """
    data = data[:BEGINNING]
    if b"\n" not in data and b"\r" in data.rstrip(b"\r"):
        raise UserError(
            f"{path} ends its lines with CR alone, expected LF or CRLF; convert it, "
            "for example with tr '\\r' '\\n'."
        )


def read_text(path):
    """Reads the text of a file, without its byte order mark.

    Raises:
        UserError: the file cannot be read, is not UTF-8, or decompresses to more than
            1 GiB.
    """
    return decoded(path, _read(path))


def _read(path):
    with opened(path) as file:
        data = file.read(_MAX_BYTES + 1 if is_compressed(path) else -1)
    if is_compressed(path) and len(data) > _MAX_BYTES:
        raise UserError(
            f"{path} holds more than {_MAX_BYTES:,} bytes; decompress it, or leave "
            "some of them out."
        )
    return data


def read_json_text(path):
    """Reads the JSON value of a text file, perhaps compressed or with a mark."""
    return parse_json_of(path, read_text(path))


def decoded(path, data):
    """Decodes the bytes of a file; see `read_text`."""
    check_beginning(path, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path} is not UTF-8 ({error.reason}, line {line}); convert it, "
            f"{HOW_TO_CONVERT}."
        ) from error


def read_lines(path):
    """Reads the lines of a file without their ends: a list, empty for an empty file.

    Raises:
        UserError: see `read_text` and `check_line_ends`.
    """
    data = _read(path)
    text = decoded(path, data)
    check_line_ends(path, data)
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]
