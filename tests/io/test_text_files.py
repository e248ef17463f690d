"""Text is UTF-8, or its file is named with its real encoding."""

import codecs

import pytest

from albert_tf.errors import UserError
from albert_tf.io.text_files import read_lines
from albert_tf.io.text_files import read_text

_TEXT = "naïve café — schön\n" * 3
_PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0"


def test_lines_end_in_lf_or_crlf(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\rstill\r\n\u2028two\x85\n\n\n".encode())
    assert read_lines(path) == ["one\rstill", "\u2028two\x85", "", ""]
    path.write_bytes(b"one\n\nlast\r")
    assert read_lines(path) == ["one", "", "last"]
    path.write_bytes(b"")
    assert read_lines(path) == []
    path.write_bytes("\ufeff".encode())
    assert read_lines(path) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (codecs.BOM_UTF16_BE + _TEXT.encode("utf-16-be"), "is UTF-16, expected"),
        (codecs.BOM_UTF32_BE + _TEXT.encode("utf-32-be"), "is UTF-32, expected"),
        ("plain".encode("utf-16-le"), "is no text in UTF-8: 5 of its first 10 bytes"),
        ("naïve café\n".encode("latin-1"), r"is not UTF-8 \(.*, line 1\); convert it"),
        (b"\x1f\x8b\x08\0\rx", "is no text but a gzip archive; decompress"),
        (_PICTURE, "is no text in UTF-8: .* as in pictures"),
    ],
)
def test_other_encodings_and_no_text(tmp_path, data, message):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    for reader in (read_text, read_lines):
        with pytest.raises(UserError, match=f"a.txt {message}"):
            reader(path)


def test_cr_alone_ends_no_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\rtwo\r")
    with pytest.raises(UserError, match="a.txt ends its lines with CR alone, expected"):
        read_lines(path)
    assert read_text(path) == "one\rtwo\r"
