"""Any table reads back as it was written, and no file is read as something else."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import discover_labels
from albert_tf.tasks.tables import read_table
from tools.fuzz.inputs import JSON
from tools.fuzz.inputs import TEXTS
from tools.fuzz.inputs import damaged

_LABELS = ("bad", "good")
_COLUMNS = Columns("text", "pair", "label")
_GOOD_TEXTS = TEXTS.map("x{}".format) | st.just('"')
_ROWS = st.lists(
    st.tuples(_GOOD_TEXTS, _GOOD_TEXTS, st.sampled_from(_LABELS)), min_size=1
)
_NOISE = st.sampled_from(
    [*'",\t\n\r{}[]:x\0', '"', "\n", "\r\n", "text", "pair", "label", "good", "bad"]
    + ["text,pair,label\n", "text\tpair\tlabel\n", "x,y,good\n", "x\ty\tbad\n"]
    + ['{"text": "x", "pair": "y", "label": "good"}\n', "\udcff", "\ufeff"]
)
_PARSERS = {
    "single_label": create_task("single_label", "custom", labels=_LABELS).parse_label,
    "multi_label": create_task("multi_label", "custom", labels=_LABELS).parse_label,
    "regression": create_task("regression", "custom").parse_label,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def read(path, kind="single_label", **options):
    return read_table(path, _COLUMNS, _PARSERS[kind], **options)


def written(suffix, rows):
    """The text of a table."""
    if suffix == ".jsonl":
        names = ("label", "text", "pair")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        return "\n".join(lines)
    file = io.StringIO()
    if suffix == ".csv":
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerows([("label", "text", "pair"), *rows])
        return file.getvalue()
    return "\n".join("\t".join(row) for row in [("label", "text", "pair"), *rows])


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
@given(rows=_ROWS)
def test_what_is_written_is_read(folder, suffix, rows):
    if suffix == ".tsv":  # which cannot hold what separates its fields and rows
        replaced = str.maketrans("\t\n\r", "   ")
        rows = [tuple(field.translate(replaced) for field in row) for row in rows]
    path = folder / f"round{suffix}"
    text = written(suffix, [(label, a, b) for a, b, label in rows])
    path.write_bytes(text.encode("utf-8"))
    table = read(path)
    expected = [(a, b, _LABELS.index(label)) for a, b, label in rows]
    found = zip(table.texts, table.text_pairs, table.labels.tolist(), strict=True)
    assert list(found) == expected
    assert table.rows.tolist() == list(range(len(rows)))


@st.composite
def files(draw):
    """Contents of tables that are right, nearly, or not at all; and their suffix."""
    suffix = draw(st.sampled_from([".tsv", ".csv", ".jsonl"]))
    if draw(st.booleans()):
        text = "".join(draw(st.lists(_NOISE, max_size=30)))
        return text.encode("utf-8", "surrogateescape"), suffix
    rows = [("good", "x", "y"), ("bad", 'a "z"', "b")]
    if suffix == ".jsonl":
        rows += draw(st.lists(st.tuples(JSON, JSON, JSON), max_size=3))
    data = written(suffix, rows).encode()
    return draw(damaged(data) | st.just(data)), suffix


@pytest.mark.slow
@given(file=files(), kind=st.sampled_from(sorted(_PARSERS)))
def test_any_file_is_a_table_or_refused(folder, file, kind):
    data, suffix = file
    path = folder / f"any{suffix}"
    path.write_bytes(data)
    try:
        lenient = read(path, kind, skip_bad_rows=True)
    except UserError as error:
        assert str(path) in str(error)
        with pytest.raises(UserError):
            read(path, kind)
        return
    assert all(text.strip() for text in lenient.texts + lenient.text_pairs)
    last = len(lenient) + lenient.num_skipped - 1
    assert lenient.rows.tolist() == sorted(set(lenient.rows.tolist()))
    assert len(lenient) == len(lenient.rows) and lenient.rows[-1] <= last
    try:
        strict = read(path, kind)
    except UserError as error:
        assert lenient.num_skipped
        assert f"{path}, line " in str(error)
    else:
        assert not lenient.num_skipped
        assert strict.digest() == lenient.digest()


@given(file=files())
def test_labels_are_discovered_or_refused(folder, file):
    data, suffix = file
    path = folder / f"labels{suffix}"
    path.write_bytes(data)
    names = create_task("single_label", "custom", labels=_LABELS).label_names
    try:
        found = discover_labels(path, _COLUMNS, names, skip_bad_rows=True)
    except UserError as error:
        assert str(path) in str(error)
        return
    assert list(found) == sorted(set(found))
    if found:
        task = create_task("single_label", "custom", labels=found)
        table = read_table(path, _COLUMNS, task.parse_label, skip_bad_rows=True)
        assert {found[label] for label in table.labels} == set(found)
