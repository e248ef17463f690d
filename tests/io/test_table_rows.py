"""Rows of tables in every form, before anything is known of their columns."""

import gzip
import json

import pytest

from albert_tf.errors import UserError
from albert_tf.io import table_rows
from albert_tf.io import text_files
from albert_tf.io.table_rows import read_rows
from albert_tf.io.text_files import read_lines


def _task(results, **more):
    """A task of Label Studio."""
    return {"data": {"text": "a"}, "annotations": [{"result": results}], **more}


_CHOICE = {"type": "choices", "value": {"choices": ["x", "y"]}}
_SPAN = {"type": "labels", "value": {"start": 0, "end": 1, "labels": ["x"]}}
_OTHER = {"type": "rating", "value": {"rating": 4}}
_ODD = [
    {"annotations": 3},
    {"data": "a", "annotations": []},
    {"data": {"text": "a"}, "annotations": [3]},
    {"data": {"text": "a"}, "annotations": [{"result": [{"type": "labels"}]}]},
]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", "a;b,c;d\n1;2,3;4\n", [["a;b", "c;d"], ["1;2", "3;4"]]),
        ("a.csv", "a;b\n1;2,3\n", [["a", "b"], ["1", "2,3"]]),
        ("a.csv", "a\tb\n1\t2;3\n", [["a", "b"], ["1", "2;3"]]),
        ("a.csv", '"a";"b, c"\n1;2\n', [["a", "b, c"], ["1", "2"]]),
        ("a.csv", "a\n1;2\n\n", [["a"], ["1;2"], [""]]),
        ("a.tsv", "a\tb\n\n1\t\n", [["a", "b"], ["1", ""]]),
        ("a.tsv", "a\n\n1", [["a"], [""], ["1"]]),
        ("a.json", [_task([_CHOICE])], [{"text": "a", "label": ["x", "y"]}]),
        (
            "a.json",
            [_task([_OTHER, _SPAN])],
            [{"text": "a", "spans": [_SPAN["value"]]}],
        ),
        (
            "a.json",
            [_task([_CHOICE, _SPAN])],
            [{"text": "a", "label": ["x", "y"], "spans": [_SPAN["value"]]}],
        ),
        ("a.json", [_task([])], [{"text": "a", "spans": []}]),
        ("a.json", [_task([], annotations=[])], [{"text": "a"}]),
        ("a.json", _ODD, _ODD),
    ],
)
def test_rows(name, text, rows, tmp_path):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    assert [fields for _, fields in read_rows(path)] == rows


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.tsv", "text\n{}\n", "line 2"),
        ("a.csv", 'text\n"b\n{}"\n', "line 2"),
        ("a.jsonl", '{{"a": 1}}\n{{"a": "{}"}}\n', "line 2"),
        ("a.json", '[{{"a": 1}}, {{"a": "{}', "row 2"),
    ],
)
def test_the_longest_row(name, text, where, tmp_path, monkeypatch):
    monkeypatch.setattr(table_rows, "MAX_ROW", 2**17)
    path, (_, _, last) = tmp_path / name, text.partition("\n")
    last = last or text.partition(", ")[2]
    size = 2**17 - len(last.format(""))  # with the end of the line
    path.write_text(text.format("x" * (size + 1)))
    message = f"{name}, {where}: the row has more than 131,072 characters; cut its text"
    with pytest.raises(UserError, match=message):
        [*read_rows(path)]
    path.write_text(text.format("x" * size))
    if name == "a.json":  # it does not end, but may still
        with pytest.raises(UserError, match="row 2 is not valid JSON; expected a lis"):
            [*read_rows(path)]
        return
    (*_, (_, fields)) = read_rows(path)
    assert "x" * size in str(fields)


def test_the_longest_text(tmp_path, monkeypatch):
    """Of a compressed file, which may hold any number; others are read as they are."""
    monkeypatch.setattr(text_files, "_MAX_BYTES", 10)
    for size in (10, 11):
        for name, data in (
            ("a.txt", b"x" * size),
            ("a.txt.gz", gzip.compress(b"x" * size)),
        ):
            (tmp_path / name).write_bytes(data)
            if name == "a.txt" or size == 10:
                assert read_lines(tmp_path / name) == ["x" * size]
                continue
            with pytest.raises(UserError, match="gz holds more than 10 bytes; decomp"):
                read_lines(tmp_path / name)


def test_a_table_elsewhere():
    with pytest.raises(
        UserError, match="ram://a.csv is on no disk of this machine; co"
    ):
        [*read_rows("ram://a.csv")]
    with pytest.raises(UserError, match="a.xls must end in one of .tsv, .csv, .json"):
        [*read_rows("a.xls")]
