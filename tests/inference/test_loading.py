"""Texts from files."""

import pytest

from albert_tf.errors import UserError
from albert_tf.inference.loading import read_texts


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "one\r\ntwo\u2028two\n\n", (["one", "two\u2028two", ""], None)),
        ("a.txt", "one\teins\ntwo\tzwei", (["one", "two"], ["eins", "zwei"])),
        ("a.tsv", "id\ttext\n7\tone\n", (["one"], None)),
        ("a.csv", "text_pair,text\nb,a\n", (["a"], ["b"])),
        ("a.jsonl", '{"text": "a"}\n', (["a"], None)),
        ("a.NDJSON", '{"text": "a"}\n', (["a"], None)),
        ("a.txt", "\ufeffone\rstill\n", (["one\rstill"], None)),
    ],
)
def test_read(tmp_path, name, content, expected):
    (tmp_path / name).write_bytes(content.encode())
    assert read_texts(str(tmp_path / name)) == expected


def test_refused(tmp_path):
    for content, message in (
        (b"", "a.txt is empty"),
        (b"a\tb\nc\n", "line 2: expected 2 text.s. as on the first line, found 1"),
        (b"a\nb\tc\n", "line 2: expected 1 text.s. as on the first line, found 2"),
        (b"a\tb\tc\n", "a.txt, line 1: expected 2 .* found 3"),
        ("电影".encode("gbk"), "a.txt is not UTF-8"),
    ):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(UserError, match=message):
            read_texts(str(tmp_path / "a.txt"))
