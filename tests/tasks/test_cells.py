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


def csv_of(labels):
    cells = (str(label).replace('"', '""') for label in labels)
    return "text,label\n" + "".join(f'a,"{cell}"\n' for cell in cells)


@pytest.fixture
def read(tmp_path):
    """Reads labels of a training and a dev table: the names, and both tables."""

    def read_tables(train, dev=None, suffix=".jsonl", kind="multi_label", names=()):
        for path in tmp_path.iterdir():
            path.unlink()
        for role, labels in (("train", train), ("dev", train if dev is None else dev)):
            path = tmp_path / f"{role}{suffix}"
            rows = [{"text": "a", "label": label} for label in labels]
            if suffix == ".parquet":
                pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
            elif suffix == ".csv":
                path.write_text(csv_of(labels), encoding="utf-8")
            else:
                path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        task, tables = custom_examples(tmp_path, _COLUMNS, kind, names)
        found = [table.labels.tolist() for table in tables.values()]
        return list(task.labels), *found

    return read_tables


_NAMES = [["joy", "calm"], ["it's", "joy"], []]
_EXPECTED = ["calm", "it's", "joy"], [[1, 0, 1], [0, 1, 1], [0, 0, 0]]


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
    assert read(list(labels), suffix=suffix)[:2] == _EXPECTED


_VECTORS = [[0, 1, 0], [1, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("of", [int, float, bool])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_vectors_have_the_names_of_labels(read, suffix, of):
    vectors = [list(map(of, vector)) for vector in _VECTORS]
    names, train, _ = read(vectors, suffix=suffix, names=("joy", "anger", "calm"))
    assert (names, train) == (["joy", "anger", "calm"], _VECTORS)
    with pytest.raises(UserError, match="repeats a name; .* with --labels"):
        read(vectors, suffix=suffix)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_vectors_of_two(read, suffix):
    vectors = [[0, 1], [1, 0]]
    found = read(vectors, suffix=suffix, names=("joy", "calm"))
    assert found[1] == vectors
    with pytest.raises(UserError, match="'label' of .* has vectors of 0 and 1; name"):
        read(vectors, suffix=suffix)
    # Numbers that are names, of which a row has any.
    assert read([*vectors, [1]], suffix=suffix)[:2] == (
        ["0", "1"],
        [[1, 1], [1, 1], [0, 1]],
    )


@pytest.mark.parametrize(
    "cell", ["['joy' 'calm']", "[0 1 0]", "[joy, calm]", "['joy', calm]", '["joy"'[:-1]]
)
def test_what_is_nearly_a_list(read, cell):
    if cell.endswith("]"):
        with pytest.raises(UserError, match="line 2: the label .* is not a list that"):
            read([cell], suffix=".csv")
    assert read(["[music]", "[music]|a"], suffix=".csv")[0] == ["[music]", "a"]


@pytest.mark.parametrize("cell", ["a|b|a", '["a", "a "]', '["1", 1]', '["1.0", 1]'])
def test_repeated_labels_are_refused(read, cell):
    with pytest.raises(UserError, match="line 2: the label .* repeats a name"):
        read([cell], suffix=".csv")


def test_a_list_of_one_is_a_label(read):
    assert read([["a"], "b"], kind="single_label")[:2] == (["a", "b"], [0, 1])
    with pytest.raises(UserError, match=r"the label \[0, 1\] is a list; expected one"):
        read(["[0, 1]", "[1, 0]"], suffix=".csv", kind="single_label")


@pytest.mark.parametrize("kind", ["single_label", "regression"])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_nan_is_no_label(read, suffix, kind):
    with pytest.raises(UserError, match=r"(line|row) 3: column 'label' is nan"):
        read([1.0, 2.0, float("nan")], suffix=suffix, kind=kind)
    if suffix == ".jsonl":
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


def test_columns_have_one_spelling(tmp_path):
    for suffix, text in (
        (".tsv", f"t{_ACUTE}xt\tlabel\nx\t1\ny\t2\n"),
        (".jsonl", json.dumps({f"t{_ACUTE}xt": "x", "label": "1"}) + "\n"),
    ):
        (tmp_path / f"test{suffix}").write_text(text, encoding="utf-8")
        columns = Columns("t\u00e9xt", None, "label")
        _, tables = custom_examples(
            tmp_path, columns, "single_label", ("1", "2"), required=()
        )
        assert tables["test"].texts[0] == "x"
        (tmp_path / f"test{suffix}").unlink()


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


def _task(name, *results, **others):
    annotations = [{"result": list(results), **others}]
    return {"id": 1, "data": {"text": name}, "annotations": annotations}


def _choice(*names):
    return {"type": "choices", "value": {"choices": list(names)}}


@pytest.mark.parametrize(
    "rows",
    [
        [_task("a", _choice("x")), _task("b", _choice("y", "x"))],
        [{"text": "a", "label": {"choices": ["x", "y"]}}],
    ],
)
def test_what_label_studio_exports(tmp_path, rows):
    for role in ("train", "validation"):
        (tmp_path / f"{role}.json").write_text(json.dumps(rows, indent=2))
    task, tables = custom_examples(tmp_path, _COLUMNS, "multi_label")
    assert task.labels == ("x", "y")
    assert tables["dev"].labels.sum() == len(rows) + 1


def test_tasks_of_several_people_are_bad_rows(tmp_path):
    task = _task("a", _choice("x"))
    task["annotations"].append({"result": []})
    path = tmp_path / "train.json"
    path.write_text(json.dumps([_task("b", _choice("x")), task]))
    with pytest.raises(UserError, match="row 2: the task has 2 annotations, expected"):
        custom_examples(tmp_path, _COLUMNS, "multi_label", required=())
    task["annotations"][1]["was_cancelled"] = True
    path.write_text(json.dumps([task]))
    assert custom_examples(tmp_path, _COLUMNS, "multi_label", required=())


def test_labels_in_python(read):
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
