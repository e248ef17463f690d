"""Cells of tables keep their type, and one label has one name in all files."""

import json
import unicodedata

import pyarrow as pa
import pyarrow.parquet
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.classification.labels import label_array
from albert_tf.tasks.classification.labels import label_names
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.similarity.reading import table_of
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.task import Task

_COLUMNS = Columns("text", None, "label")
_ACUTE = unicodedata.normalize("NFD", "é")


def write(path, labels):
    """Writes a table of texts "a" with such labels."""
    rows = [{"text": "a", "label": label} for label in labels]
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        cells = (str(label).replace('"', '""') for label in labels)
        text = "text,label\n" + "".join(f'a,"{cell}"\n' for cell in cells)
        path.write_text(text, "utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def read(tmp_path):
    """Reads labels of a training and a dev table: the names, and both tables."""

    def tables(train, dev=None, suffix=".jsonl", kind="multi_label", names=(), **more):
        for path in tmp_path.iterdir():
            path.unlink()
        write(tmp_path / f"train{suffix}", train)
        write(tmp_path / f"dev{suffix}", train if dev is None else dev)
        task, found = custom_examples(tmp_path, _COLUMNS, kind, names, **more)
        return list(task.labels), *(table.labels.tolist() for table in found.values())

    return tables


_NAMES = [["joy", "calm"], ["it's", "joy"], []]


@pytest.mark.parametrize(
    ("suffix", "labels"),
    [
        (".jsonl", _NAMES),
        (".parquet", _NAMES),
        (".csv", map(json.dumps, _NAMES)),
        (".csv", map(str, _NAMES)),  # as pandas writes them
        (".csv", ["joy|calm", "it's|joy", ""]),
        (".jsonl", ['["joy", "calm"]', "[\"it's\", 'joy']", "[]"]),
    ],
)
def test_lists_and_lists_in_cells(read, suffix, labels):
    expected = ["calm", "it's", "joy"], [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert read(list(labels), suffix=suffix)[:2] == expected


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_vectors_have_the_names_of_labels(read, suffix):
    expected = [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
    for of in (int, float, bool):
        vectors = [list(map(of, vector)) for vector in expected]
        names, train, _ = read(vectors, suffix=suffix, names=("joy", "anger", "calm"))
        assert (names, train) == (["joy", "anger", "calm"], expected)
        with pytest.raises(UserError, match="repeats a name; .* with --labels"):
            read(vectors, suffix=suffix)
    if suffix == ".parquet":
        return
    two = [[0, 1], [1, 0]]
    assert read(two, suffix=suffix, names=("joy", "calm"))[1] == two
    with pytest.raises(UserError, match="'label' of .* has vectors of 0 and 1; name"):
        read(two, suffix=suffix)
    # Numbers that are names, of which a row has any.
    expected = ["0", "1"], [[1, 1], [1, 1], [0, 1]]
    assert read([*two, [1]], suffix=suffix)[:2] == expected


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("['joy' 'calm']", "is not a list that"),
        ("[0 1 0]", "is not a list that"),
        ("[joy, calm]", "is not a list that"),
        ("['joy', calm]", "is not a list that"),
        ("a|b|a", "repeats a name"),
        ('["a", "a "]', "repeats a name"),
        ('["1", 1]', "repeats a name"),
        ('["1.0", 1]', "repeats a name"),
    ],
)
def test_cells_that_are_no_list_of_names(read, cell, message):
    with pytest.raises(UserError, match=f"line 2: the label .* {message}"):
        read([cell], suffix=".csv")
    assert read(["[music]", "[music]|a"], suffix=".csv")[0] == ["[music]", "a"]


def test_a_list_of_one_is_a_label(read):
    assert read([["a"], "b"], kind="single_label")[:2] == (["a", "b"], [0, 1])
    with pytest.raises(UserError, match=r"the label \[0, 1\] is a list; expected one"):
        read(["[0, 1]", "[1, 0]"], suffix=".csv", kind="single_label")


@pytest.mark.parametrize("kind", ["single_label", "regression"])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_nan_is_no_label(read, suffix, kind):
    with pytest.raises(UserError, match=r"(line|row) 3: column 'label' is nan"):
        read([1.0, 2.0, float("nan")], suffix=suffix, kind=kind)
    with pytest.raises(UserError, match="line 2: the label nan is not a name"):
        read([["a"], ["a", float("nan")]])


@pytest.mark.parametrize("label", ["1_5", "１５", "nan", "0x1", "1,5", "1 5", True])
def test_numbers_are_decimal(read, label):
    with pytest.raises(UserError, match=f"the label '?{label}'? is not a number"):
        read([label], kind="regression")
    with pytest.raises(UserError, match=f"the score '?{label}'? is not a number"):
        table_of([("a", "b")], [label])
    with pytest.raises(UserError, match="line 1: the label 1000"):
        read([10**400], kind="regression")
    numbers = ["1", " -1.5", "+.5", "1e2", "2.", "1E-1"]
    found = read(numbers, suffix=".csv", kind="regression")[1]
    assert found == pytest.approx([1, -1.5, 0.5, 100, 2, 0.1])


@pytest.mark.parametrize(
    ("kind", "label", "good", "message"),
    [
        ("single_label", {"a": 1}, "b", "column 'label' holds an object"),
        ("single_label", "", "b", "the label is empty"),
        ("multi_label", [None], ["b"], "is not a list of names"),
        ("multi_label", ["a\tb"], ["b"], "holds a tab"),
        ("multi_label", ["\ud800"], ["b"], "not UTF-8"),
        ("multi_label", "a\0", ["b"], "a label holds a NUL byte"),
        ("regression", [1], 2, r"the label \[1\] is not a number"),
        ("regression", -4e38, 2, "the label .* is not a number"),
    ],
)
def test_what_is_no_label_makes_a_bad_row(read, kind, label, good, message):
    others = [good, good, *["c"] * (kind == "single_label")]
    with pytest.raises(UserError, match=f"train.jsonl, line 1: .*{message}"):
        read([label, *others], others, kind=kind)
    names, train, _ = read([label, *others], others, kind=kind, skip_bad_rows=True)
    expected = {"single_label": ["b", "c"], "multi_label": ["b"], "regression": []}
    assert (names, len(train)) == (expected[kind], len(others))


@pytest.mark.parametrize("kind", ["single_label", "multi_label"])
@pytest.mark.parametrize(
    ("train", "dev", "names"),
    [
        ([0, 1], [0.0, 1.0], ["0", "1"]),
        ([0.0, 1.0], [0, 1], ["0.0", "1.0"]),
        ([0, 1, 1.0, 0.0], ["0.0", "1", "1.00", "0"], ["0", "1"]),
        ([False, True], ["FALSE", "True"], ["false", "true"]),
        (["No", "caf\u00e9"], ["No", f"caf{_ACUTE}"], ["No", "caf\u00e9"]),
        (["No", f"caf{_ACUTE}"], ["No", "caf\u00e9"], ["No", f"caf{_ACUTE}"]),
        ([f"{_ACUTE}", "é", "b"], ["é", "b"], ["b", "é"]),
    ],
)
def test_one_label_has_one_name(read, kind, train, dev, names):
    found = read(train, dev, kind=kind)
    assert found[0] == names
    assert len(train) > len(dev) or found[1] == found[2]
    assert len({str(label) for label in found[1] + found[2]}) == len(names)
    with pytest.raises(UserError, match="--labels=.* repeats"):
        read(train, kind=kind, names=("é", _ACUTE))


def test_white_space_around_labels_is_none_of_them(read):
    spaced = ["a", " a", "a ", "\u3000a\xa0", "a\u200b", "\ufeffa", "b"]
    found = read(spaced, kind="single_label")
    assert found[:2] == (["a", "b"], [0] * 6 + [1])
    found = read([*spaced, "a | b", ["b ", " a"]])
    assert found[:2] == (["a", "b"], [[1, 0]] * 6 + [[0, 1], [1, 1], [1, 1]])
    # Labels that a model tells apart by spaces stay apart.
    task = create_task("single_label", "custom", labels=("a", "a ", " b"))
    assert list(map(task.parse_label, ["a", "a ", "b", " b"])) == [0, 1, 2, 2]


def test_columns_have_one_spelling(tmp_path):
    for suffix, text in (
        (".tsv", f"t{_ACUTE}xt\tlabel\nx\t1\ny\t2\n"),
        (".jsonl", json.dumps({f"t{_ACUTE}xt": "x", "label": "1"}) + "\n"),
    ):
        path = tmp_path / f"test{suffix}"
        path.write_text(text, "utf-8")
        given = Columns("t\u00e9xt", None, "label"), "single_label", ("1", "2")
        _, tables = custom_examples(tmp_path, *given, required=())
        assert tables["test"].texts[0] == "x"
        path.unlink()


def test_custom_examples_discover_sorted_labels(tmp_path):
    for role, text in (
        ("train", "label\ttext\njunk\t\nb\tx\na\ty\nb\tz\n"),
        ("dev", "text\tlabel\nx\tb\n"),
        ("test", "text\nx\n"),
    ):
        (tmp_path / f"{role}.tsv").write_text(text)
    given = tmp_path, _COLUMNS, "single_label"
    task, tables = custom_examples(*given, skip_bad_rows=True)
    # Rows that are left out bring no label.
    assert (task.labels, task.num_outputs) == (("a", "b"), 2)
    assert tables["train"].labels.tolist() == [1, 0, 1]
    assert tables["dev"].labels.tolist() == [1]
    assert tables["test"].labels is None
    (tmp_path / "test.tsv").write_text("label\ttext\nb\tx\na\ty\n")
    _, tables = custom_examples(*given, labels=("b", "a"), skip_bad_rows=True)
    assert tables["train"].labels.tolist() == [0, 1, 0]
    assert tables["test"].labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test.tsv", "label\ttext\n-1 \tx\n \ty\n-1\t\n"),
        (
            "test.jsonl",
            '{"label": -1, "text": "x"}\n{"label": "", "text": "y"}\n'
            '{"label": null, "text": ""}\n',
        ),
    ],
)
def test_hidden_labels_of_a_test_table_are_none(tmp_path, name, text):
    for role in ("train", "dev"):
        write(tmp_path / f"{role}.jsonl", [1, 2])
    (tmp_path / name).write_text(text)
    table = custom_examples(tmp_path, _COLUMNS, "multi_label")[1]["test"]
    assert (table.is_labelled, table.labels) == (False, None)
    assert table.texts == ["x", "y", ""]


_CLASS = {"names": ["neg", "pos"], "_type": "ClassLabel"}


@pytest.mark.parametrize(
    ("kind", "labels", "feature"),
    [
        ("single_label", [1, 0], _CLASS),
        ("multi_label", [[1], [0, 1]], {"feature": _CLASS, "_type": "Sequence"}),
        ("multi_label", [[1], [0, 1]], {"feature": _CLASS, "_type": "List"}),
        ("multi_label", [[1], [0, 1]], [_CLASS]),
    ],
)
def test_names_of_classes_in_parquet(tmp_path, kind, labels, feature):
    def write(role, labels):
        table = pa.table({"text": ["a"] * len(labels), "label": labels})
        features = {"info": {"features": {"label": feature}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
        pyarrow.parquet.write_table(table, tmp_path / f"{role}.parquet")

    for role in ("train", "dev"):
        write(role, labels)
    write("test", [-1, -1])
    task, tables = custom_examples(tmp_path, _COLUMNS, kind)
    assert task.labels == ("neg", "pos")
    expected = [1, 0] if kind == "single_label" else [[0, 1], [1, 1]]
    assert tables["train"].labels.tolist() == expected
    assert tables["test"].labels is None
    write("dev", [7] if kind == "single_label" else [[7]])
    with pytest.raises(UserError, match="row 1: .*the class 7 has no name"):
        custom_examples(tmp_path, _COLUMNS, kind)


def _task(*names):
    """A task of Label Studio on whose text somebody has chosen labels."""
    result = {"type": "choices", "value": {"choices": list(names)}}
    return {"id": 1, "data": {"text": "a"}, "annotations": [{"result": [result]}]}


def test_what_label_studio_exports(tmp_path):
    for rows in (
        [_task("x"), _task("y", "x")],
        [{"text": "a", "label": {"choices": ["x", "y"]}}],
    ):
        for role in ("train", "validation"):
            (tmp_path / f"{role}.json").write_text(json.dumps(rows, indent=2))
        task, tables = custom_examples(tmp_path, _COLUMNS, "multi_label")
        assert task.labels == ("x", "y")
        assert tables["dev"].labels.sum() == len(rows) + 1
    two = _task("x", "y")
    two["annotations"].append({"result": []})
    (tmp_path / "train.json").write_text(json.dumps([_task("x"), two]))
    with pytest.raises(UserError, match="row 2: the task has 2 annotations, expected"):
        custom_examples(tmp_path, _COLUMNS, "multi_label", required=())
    two["annotations"][1]["was_cancelled"] = True
    (tmp_path / "train.json").write_text(json.dumps([two]))
    assert custom_examples(tmp_path, _COLUMNS, "multi_label", required=())


def test_labels_in_python():
    kind = Task.kinds["multi_label"]
    task = create_task("multi_label", "custom", labels=("calm", "joy"))
    values = [["joy"], "['joy', 'calm']", '["calm"]', "joy|calm"]
    assert label_names(kind, values) == ("calm", "joy")
    assert label_array(task, values).tolist() == [[0, 1], [1, 1], [1, 0], [1, 1]]
    assert label_names(kind, ["1.0", "1", "10", "2"]) == ("1", "2", "10")
    for given, message in (
        ([[0, 1], [1, 0]], "labels are vectors of 0 and 1; give the names"),
        (["['a' 'b']"], r"labels\[0\]: the label .* is not a list that can be read"),
    ):
        with pytest.raises(UserError, match=message):
            label_names(kind, given)
    with pytest.raises(UserError, match=r"give each label that applies once, not \[0"):
        label_array(task, [[0, 1], [1, 0]])
