"""Parquet as tables and as a corpus: the same rows as JSON lines, and faults.

tests/security/test_bombs.py has damaged files.
"""

import datetime
import decimal
import json
import types

import pyarrow as pa
import pyarrow.parquet
import pytest

from albert_tf.errors import UserError
from albert_tf.inference.loading import read_texts
from albert_tf.io import parquet_rows
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import read_table
from data_pipeline.text import corpus

_ROWS = [{"text": f"One. Row {row}.", "label": row % 2} for row in range(3000)]
_NOT_UTF8 = pa.StringArray.from_buffers(
    1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
)


@pytest.fixture
def write(tmp_path):
    def write_table(table, **options):
        if isinstance(table, list):
            table = pa.Table.from_pylist(table)
        path = tmp_path / "a.parquet"
        pyarrow.parquet.write_table(table, path, **options)
        return path

    return write_table


def documents(path, share=0, num_shares=1, input_format="auto", text_field="text"):
    files = corpus.find_files(str(path))
    reader = corpus.Reader(files, input_format, text_field)
    return list(reader.documents(share, num_shares)), reader


@pytest.mark.parametrize("row_group_size", [7, 10**6])
def test_a_table_equals_its_json_lines(tmp_path, write, row_group_size):
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in _ROWS))
    found, expected = (
        read_table(path, Columns("text", None, "label"), int)
        for path in (write(_ROWS, row_group_size=row_group_size), lines)
    )
    assert found.texts == expected.texts
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.rows.tolist() == list(range(3000))


def test_every_kind_of_value(write):
    told = {
        "text": (pa.array(["a"]).dictionary_encode(), "a"),
        "code": (pa.array([7]).dictionary_encode(), "7"),
        "number": ([1.5], "1.5"),
        "day": ([datetime.date(2020, 1, 2)], "2020-01-02"),
        "price": ([decimal.Decimal("1.50")], "1.50"),
        "bytes": ([b"b"], "b"),
    }
    columns = {name: values for name, (values, _) in told.items()}
    columns["nanoseconds"] = pa.array([1], pa.timestamp("ns"))
    path = write(pa.table({**columns, "picture": [b"\xff"], "names": [["x", "y"]]}))
    for name, (_, text) in told.items():
        assert read_table(path, Columns(name)).texts == [text]
    assert read_texts(path) == (["a"], None)
    labels = read_table(path, Columns("text", None, "names"), len).labels
    assert labels.tolist() == [2]
    with pytest.raises(UserError, match="row 1: column 'picture' is null"):
        read_table(path, Columns("picture"))


def _dictionary(places, values):
    return pa.DictionaryArray.from_arrays(
        pa.array(places, pa.int32()), pa.array(values)
    )


@pytest.mark.parametrize(
    ("column", "shared", "alone"),
    [
        (pa.array([1, 2, 3]), 24, 24),
        (_dictionary([0, 0, 1], ["abcd", "x"]), 5 + 2 * 4, 9),
        (_dictionary([1], ["abcd", "x"]), 1, 1),
        (_dictionary([0, None], [b"ab"]), 2 + 4, 2),
        (_dictionary([None], ["a"]), 0, 0),
        (_dictionary([0, 0, 0], [7]), 8, 8),
        (_dictionary([0], [7]), 8, 8),
        (pa.StructArray.from_arrays([_dictionary([0, 0], ["abc"])], ["a"]), 6, 6),
        (pa.ListArray.from_arrays([0, 2, 3], _dictionary([0, 0, 0], ["ab"])), 6, 6),
    ],
)
def test_bytes_that_values_take(column, shared, alone):
    assert parquet_rows._size(column) == shared
    assert parquet_rows._size(column, False) == alone


def test_class_names_in_the_metadata():
    label = {"_type": "ClassLabel", "names": ["x", "y"]}
    features = {
        "a": label,
        "b": [label],
        "c": {"_type": "Sequence", "feature": {"feature": label}},
        **{"d": {**label, "names": ["x", 1]}, "e": {**label, "names": "xy"}},
        **{"f": {**label, "_type": "Value"}, "g": [], "h": 3},
    }
    written = json.dumps({"info": {"features": features}})
    for metadata, found in (
        (written, dict.fromkeys("abc", label["names"])),
        ('{"info": {"features": []}}', {}),
        ('{"info": 3}', {}),
        ("[", {}),
    ):
        schema = pa.schema([], {"huggingface": metadata})
        assert parquet_rows._classes(schema) == found
    assert parquet_rows._classes(pa.schema([])) == {}


def test_numbers_of_classes():
    names = ["x", "y"]
    found = [parquet_rows._plain(value, names) for value in (0, [1, -1], "y", None)]
    assert found == ["x", ["y", -1], "y", None]  # -1 is a hidden label
    for value in (2, -2):
        with pytest.raises(ValueError, match=f"the class {value} has no name"):
            parquet_rows._plain(value, names)


def test_rows_that_no_group_holds():
    metadata = types.SimpleNamespace(num_rows=3)
    table = types.SimpleNamespace(num_row_groups=0, metadata=metadata)
    with pytest.raises(ValueError, match="it has 0 rows, not 3"):
        [*parquet_rows._batches(table, 0, 3, None)]


def test_columns_of_one_name_are_refused(write):
    arrays = [pa.array([letter]) for letter in "abc"]
    path = write(pa.Table.from_arrays(arrays, ["text", "x", "x"]))
    message = "a.parquet has 2 columns 'x'; give each its own name"
    with pytest.raises(UserError, match=message):
        read_table(path, Columns("x"))
    with pytest.raises(UserError, match=message):
        documents(path, text_field="x")
    (document,), _ = documents(path)
    assert document.segments == ["a"]


@pytest.mark.parametrize(("row_group_size", "num_shares"), [(999, 50), (10**6, 2)])
def test_shares_of_a_corpus_are_a_partition(write, num_shares, row_group_size):
    path = write(_ROWS, row_group_size=row_group_size)
    shares = [documents(path, share, num_shares) for share in range(num_shares)]
    found = [document for share, _ in shares for document in share]
    assert [d.segments for d in found] == [["One.", f"Row {r}."] for r in range(3000)]
    assert [d.key for d in found] == [f"0:{row}" for row in range(3000)]
    assert sum(reader.bytes_read for _, reader in shares) == path.stat().st_size
    sizes = [len(share) for share, _ in shares]
    assert max(sizes) - min(sizes) <= 2


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["a", None, "c"], "row 2: (expected a text in|column) 'text'.* (None|null)"),
        (_NOT_UTF8, "row 1: the row cannot be read .'utf-8' codec"),
    ],
)
def test_rows_without_text_are_named(write, rows, problem):
    path = write(pa.table({"text": rows}))
    with pytest.raises(UserError, match=problem):
        read_table(path, Columns("text"))
    with pytest.raises(UserError, match=problem):
        documents(path)
    with pytest.raises(UserError, match="no column 'body', expected one of text"):
        documents(path, text_field="body")
    if len(rows) > 1:
        table = read_table(path, Columns("text"), skip_bad_rows=True)
        assert (table.texts, table.rows.tolist()) == (["a", "c"], [0, 2])
        assert table.num_skipped == 1
