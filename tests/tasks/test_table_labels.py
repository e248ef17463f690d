"""Labels of tables of one's own, of each kind."""

import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import Columns

_COLUMNS = Columns("sentence", None, "label")


@pytest.mark.parametrize(
    ("kind", "label", "good", "message"),
    [
        (
            "single_label",
            '["a", "c"]',
            '"b"',
            r"the label \['a', 'c'\] is a list; expected one name",
        ),
        ("single_label", '{"a": 1}', '"b"', "column 'label' holds an object"),
        ("single_label", '""', '"b"', "the label is empty"),
        ("multi_label", '[["a"]]', '["b"]', "is not a list of names"),
        ("multi_label", "[null]", '["b"]', "is not a list of names"),
        ("regression", "[1]", "2", r"the label \[1\] is not a number"),
        ("regression", "1e308", "2", r"the label 1e\+308 is not a number"),
        ("regression", "-4e38", "2", "the label .* is not a number"),
        ("regression", '{"a": 1}', "2", "column 'label' holds an object"),
    ],
)
def test_label_of_a_wrong_shape_is_a_bad_row(tmp_path, kind, label, good, message):
    rows = [f'{{"sentence": "x", "label": {raw}}}\n' for raw in (label, good, good)]
    other = '{"sentence": "y", "label": "c"}\n' if kind == "single_label" else ""
    for role in ("train", "dev"):
        (tmp_path / f"{role}.jsonl").write_text("".join(rows) + other)

    def source(skip_bad_rows):
        task, tables = custom_examples(tmp_path, _COLUMNS, kind, (), skip_bad_rows)
        return task, tables["train"]

    with pytest.raises(UserError, match=f"train.jsonl, line 1: .*{message}"):
        source(False)
    task, table = source(True)
    assert table.num_skipped == 1
    assert task.labels == {"single_label": ("b", "c"), "multi_label": ("b",)}.get(
        kind, ()
    )


@pytest.mark.parametrize(
    ("name", "row", "problem"),
    [
        ("train.tsv", b"\xe9\tx\n", "a label is not UTF-8"),
        ("train.tsv", b"a\0\tx\n", "a label holds a NUL byte"),
        ("train.jsonl", b'{"sentence": "x", "label": ["a\\tb"]}\n', "holds a tab"),
        ("train.jsonl", b'{"sentence": "x", "label": ["\\ud800"]}\n', "not UTF-8"),
    ],
)
def test_label_that_could_not_be_saved_is_a_bad_row(tmp_path, name, row, problem):
    text, line = b"label\tsentence\n" + row + b"b\ty\n", 2
    if name == "train.jsonl":
        text, line = row + b'{"sentence": "y", "label": ["b"]}\n', 1
    (tmp_path / name).write_bytes(text)
    (tmp_path / "dev.tsv").write_text("label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match=f"{name}, line {line}: .*{problem}"):
        custom_examples(tmp_path, _COLUMNS, "multi_label")
    task, tables = custom_examples(
        tmp_path, _COLUMNS, "multi_label", (), skip_bad_rows=True
    )
    assert task.labels == ("b",)
    table = tables["train"]
    assert (table.num_skipped, table.labels.tolist()) == (1, [[1]])


def test_a_regression_has_no_labels(tmp_path):
    (tmp_path / "train.tsv").write_text("1\ta\n")
    (tmp_path / "dev.tsv").write_text("1\ta\n")
    with pytest.raises(UserError, match="regression has no labels; leave out --labels"):
        custom_examples(tmp_path, _COLUMNS, "regression", ("a", "b"))


@pytest.mark.parametrize(
    ("labels", "problem"),
    [("a,b,a,", "repeats 'a'"), ("a,,b", "has an empty name"), ("a,", "has an empty")],
)
def test_empty_and_repeated_names_in_labels_are_errors(tmp_path, labels, problem):
    for role in ("train", "dev"):
        (tmp_path / f"{role}.tsv").write_text("label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match=f"^--labels={labels} {problem}"):
        custom_examples(tmp_path, _COLUMNS, "multi_label", tuple(labels.split(",")))


def test_rows_left_out_bring_no_label(tmp_path):
    (tmp_path / "train.tsv").write_text("label\tsentence\njunk\t\nb\tx\na\ty\n")
    (tmp_path / "dev.tsv").write_text("label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="train.tsv, line 2: a text is empty"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    task, tables = custom_examples(
        tmp_path, _COLUMNS, "single_label", skip_bad_rows=True
    )
    assert task.labels == ("a", "b")


def test_multi_label_vectors(tmp_path):
    (tmp_path / "train.tsv").write_text("label\tsentence\nb|a\tx\n\ty\nc\tz\n")
    (tmp_path / "dev.jsonl").write_text('{"sentence": "x", "label": ["c", "a"]}\n')
    task, tables = custom_examples(tmp_path, _COLUMNS, "multi_label")
    assert task.labels == ("a", "b", "c")
    labels = tables["train"].labels
    assert labels.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert tables["dev"].labels.tolist() == [[1, 0, 1]]
    logits = np.array([[1.0, 2.0, -1.0]])
    assert task.predictions(logits).tolist() == [[1, 1, 0]]
    assert task.label_text(labels[0]) == "a|b"


_SPACED = ["a", " a", "a ", "\u3000a\xa0", "a\u200b", "\ufeffa"]


@pytest.mark.parametrize("kind", ["single_label", "multi_label"])
def test_white_space_around_labels_is_none_of_them(tmp_path, kind):
    rows = [{"sentence": "x", "label": label} for label in [*_SPACED, "b"]]
    if kind == "multi_label":
        rows += [{"sentence": "x", "label": label} for label in ("a | b", ["b ", " a"])]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for role in ("train", "dev"):
        (tmp_path / f"{role}.jsonl").write_text(text)
    task, tables = custom_examples(tmp_path, _COLUMNS, kind)
    assert task.labels == ("a", "b")
    labels = tables["dev"].labels.tolist()
    if kind == "single_label":
        assert labels == [0] * 6 + [1]
    else:
        assert labels == [[1, 0]] * 6 + [[0, 1], [1, 1], [1, 1]]


def test_labels_that_a_model_tells_apart_by_spaces_stay_apart(tmp_path):
    task = create_task("single_label", "custom", labels=("a", "a ", " b"))
    assert list(map(task.parse_label, ["a", "a ", "b", " b"])) == [0, 1, 2, 2]


def test_regression_values(tmp_path):
    for role in ("train", "dev"):
        (tmp_path / f"{role}.tsv").write_text("label\tsentence\n1.5 \tx\n\u200b2\ty\n")
    task, tables = custom_examples(tmp_path, _COLUMNS, "regression")
    labels = tables["train"].labels
    assert (task.num_outputs, labels.dtype) == (1, np.float32)
    assert labels.tolist() == [1.5, 2.0]
    (tmp_path / "dev.tsv").write_text("label\tsentence\nnan\tx\n")
    with pytest.raises(UserError, match="dev.tsv, line 2: the label 'nan' is not a"):
        custom_examples(tmp_path, _COLUMNS, "regression")


def test_absent_tables_and_single_label_are_errors(tmp_path):
    with pytest.raises(UserError, match="has no train.tsv"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    (tmp_path / "train.tsv").write_text("label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="has no dev.tsv"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    (tmp_path / "dev.tsv").write_text("label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="has 1 label"):
        custom_examples(tmp_path, _COLUMNS, "single_label")


def _write(path, text):
    path.write_bytes(text.encode())
    return path


def test_custom_examples_discover_sorted_labels(tmp_path):
    _write(tmp_path / "train.tsv", "label\tsentence\nb\tx\na\ty\nb\tz\n")
    _write(tmp_path / "dev.csv", "sentence,label\nx,b\n")
    _write(tmp_path / "test.tsv", "sentence\nx\n")
    task, tables = custom_examples(tmp_path, _COLUMNS, "single_label")
    assert task.labels == ("a", "b")
    assert task.num_outputs == 2
    assert tables["train"].labels.tolist() == [1, 0, 1]
    assert tables["dev"].labels.tolist() == [1]
    assert tables["test"].labels is None
    _, given = custom_examples(tmp_path, _COLUMNS, "single_label", labels=("b", "a"))
    assert given["train"].labels.tolist() == [0, 1, 0]


def test_custom_test_table_may_be_labelled(tmp_path):
    for role in ("train", "dev", "test"):
        _write(tmp_path / f"{role}.tsv", "label\tsentence\nb\tx\na\ty\n")
    task, tables = custom_examples(tmp_path, _COLUMNS, "single_label")
    assert tables["test"].labels.tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["single_label", "multi_label", "regression"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test.tsv", "label\tsentence\n-1 \tx\n \ty\n-1\t\n"),
        ("test.csv", "label,sentence\n-1,x\n,y\n-1,\n"),
        (
            "test.jsonl",
            '{"label": -1, "sentence": "x"}\n{"label": "", "sentence": "y"}\n'
            '{"label": null, "sentence": ""}\n',
        ),
    ],
)
def test_hidden_labels_of_a_test_table_are_none(tmp_path, kind, name, text):
    for role in ("train", "dev"):
        _write(tmp_path / f"{role}.tsv", "label\tsentence\n1\tx\n2\ty\n")
    _write(tmp_path / name, text)
    table = custom_examples(tmp_path, _COLUMNS, kind)[1]["test"]
    assert (table.is_labelled, table.labels) == (False, None)
    assert table.texts == ["x", "y", ""]
