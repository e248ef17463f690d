"""Rows of tables in every form, before anything is known of their columns."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.io.table_rows import read_rows


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


def test_a_table_elsewhere():
    with pytest.raises(
        UserError, match="ram://a.csv is on no disk of this machine; co"
    ):
        [*read_rows("ram://a.csv")]
    with pytest.raises(UserError, match="a.xls must end in one of .tsv, .csv, .json"):
        [*read_rows("a.xls")]
