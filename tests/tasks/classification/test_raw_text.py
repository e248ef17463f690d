"""Texts of --input_file: a line each, whatever their characters."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.flags import RawTextFlags
from albert_tf.tasks.classification.run import read_raw_texts


def _read(path, data, pair=False):
    path.write_bytes(data)
    return read_raw_texts(RawTextFlags(input_file=str(path)), pair)


def test_every_line_is_a_text(tmp_path):
    data = "\ufefffirst\rstill first\r\nsecond\n\n\n".encode()
    expected = (["first\rstill first", "second", "", ""], None)
    assert _read(tmp_path / "a.txt", data) == expected


def test_pairs_are_separated_by_a_tab(tmp_path):
    assert _read(tmp_path / "a.tsv", b"a\tb\n", pair=True) == (["a"], ["b"])
    with pytest.raises(UserError, match="1"):
        _read(tmp_path / "a.tsv", b"a\n", pair=True)


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.JSONL"])
def test_tables_are_no_lines(tmp_path, name):
    with pytest.raises(UserError, match=f"--input_file=.*{name} is a table, expected"):
        _read(tmp_path / name, b'{"text": "fine"}\n')
