"""Labels of tables of one's own, of each kind."""

import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import Columns

_COLUMNS = Columns("sentence", None, "label")


def _write(folder, **texts):
    """Writes the tables of roles: JSON lines, or else tab-separated values."""
    for role, text in texts.items():
        suffix = "jsonl" if text.startswith("{") else "tsv"
        (folder / f"{role}.{suffix}").write_bytes(text.encode())


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
        ("multi_label", "[null]", '["b"]', "is not a list of names"),
        ("multi_label", '["a\\tb"]', '["b"]', "holds a tab"),
        ("multi_label", '["\\ud800"]', '["b"]', "not UTF-8"),
        ("multi_label", '"a\\u0000"', '["b"]', "a label holds a NUL byte"),
        ("regression", "[1]", "2", r"the label \[1\] is not a number"),
        ("regression", "-4e38", "2", "the label .* is not a number"),
    ],
)
def test_what_is_no_label_makes_a_bad_row(tmp_path, kind, label, good, message):
    rows = [f'{{"sentence": "x", "label": {raw}}}\n' for raw in (label, good, good)]
    other = '{"sentence": "y", "label": "c"}\n' if kind == "single_label" else ""
    _write(tmp_path, train="".join(rows) + other, dev="".join(rows[1:]) + other)
    with pytest.raises(UserError, match=f"train.jsonl, line 1: .*{message}"):
        custom_examples(tmp_path, _COLUMNS, kind)
    task, tables = custom_examples(tmp_path, _COLUMNS, kind, (), skip_bad_rows=True)
    assert tables["train"].num_skipped == 1
    expected = {"single_label": ("b", "c"), "multi_label": ("b",), "regression": ()}
    assert task.labels == expected[kind]


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        ("regression", ("a", "b"), "regression has no labels; leave out --labels"),
        ("multi_label", ("a", "", "b"), "^--labels=a,,b has an empty name"),
        ("multi_label", ("a", "b", "a"), "^--labels=a,b,a repeats 'a'"),
    ],
)
def test_names_that_are_refused(tmp_path, kind, labels, message):
    _write(tmp_path, train="label\tsentence\nb\tx\n", dev="label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match=message):
        custom_examples(tmp_path, _COLUMNS, kind, labels)


def test_rows_left_out_bring_no_label(tmp_path):
    table = "label\tsentence\njunk\t\nb\tx\na\ty\n"
    _write(tmp_path, train=table, dev="label\tsentence\nb\tx\n")
    task, _ = custom_examples(tmp_path, _COLUMNS, "single_label", skip_bad_rows=True)
    assert task.labels == ("a", "b")


def test_multi_label_vectors(tmp_path):
    _write(
        tmp_path,
        train="label\tsentence\nb|a\tx\n\ty\nc\tz\n",
        dev='{"sentence": "x", "label": ["c", "a"]}\n',
    )
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
    _write(tmp_path, train=text, dev=text)
    task, tables = custom_examples(tmp_path, _COLUMNS, kind)
    assert task.labels == ("a", "b")
    labels = tables["dev"].labels.tolist()
    if kind == "single_label":
        assert labels == [0] * 6 + [1]
    else:
        assert labels == [[1, 0]] * 6 + [[0, 1], [1, 1], [1, 1]]


def test_labels_that_a_model_tells_apart_by_spaces_stay_apart():
    task = create_task("single_label", "custom", labels=("a", "a ", " b"))
    assert list(map(task.parse_label, ["a", "a ", "b", " b"])) == [0, 1, 2, 2]


def test_regression_values(tmp_path):
    table = "label\tsentence\n1.5 \tx\n\u200b2\ty\n"
    _write(tmp_path, train=table, dev=table)
    task, tables = custom_examples(tmp_path, _COLUMNS, "regression")
    labels = tables["train"].labels
    assert (task.num_outputs, labels.dtype) == (1, np.float32)
    assert labels.tolist() == [1.5, 2.0]


def test_custom_examples_discover_sorted_labels(tmp_path):
    _write(
        tmp_path,
        train="label\tsentence\nb\tx\na\ty\nb\tz\n",
        dev="sentence\tlabel\nx\tb\n",
        test="sentence\nx\n",
    )
    task, tables = custom_examples(tmp_path, _COLUMNS, "single_label")
    assert (task.labels, task.num_outputs) == (("a", "b"), 2)
    assert tables["train"].labels.tolist() == [1, 0, 1]
    assert tables["dev"].labels.tolist() == [1]
    assert tables["test"].labels is None
    _write(tmp_path, test="label\tsentence\nb\tx\na\ty\n")
    _, given = custom_examples(tmp_path, _COLUMNS, "single_label", labels=("b", "a"))
    assert given["train"].labels.tolist() == [0, 1, 0]
    assert given["test"].labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    "test",
    [
        "label\tsentence\n-1 \tx\n \ty\n-1\t\n",
        '{"label": -1, "sentence": "x"}\n{"label": "", "sentence": "y"}\n'
        '{"label": null, "sentence": ""}\n',
    ],
)
def test_hidden_labels_of_a_test_table_are_none(tmp_path, test):
    table = "label\tsentence\n1\tx\n2\ty\n"
    _write(tmp_path, train=table, dev=table, test=test)
    table = custom_examples(tmp_path, _COLUMNS, "multi_label")[1]["test"]
    assert (table.is_labelled, table.labels) == (False, None)
    assert table.texts == ["x", "y", ""]
