"""Tables of one's own as a task: the files there, and the labelled ones."""

import pytest

from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.tables import Columns

_COLUMNS = Columns("sentence", None, "label")


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
