"""Tables of pairs, and faults in them."""

import numpy as np
import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.similarity.flags import SimilarityOptions
from albert_tf.tasks.similarity.reading import read_pairs


@pytest.fixture
def read(tmp_path):
    def read_role(role="train", **flags):
        flags |= {"output_dir": "o", "data_dir": tmp_path / "data"}
        argv = [f"--{name}={value}" for name, value in flags.items()]
        return read_pairs(parse(SimilarityOptions, ["run", *argv]), [role])[role]

    return read_role


def test_pairs(write, read):
    write("train.tsv", ("anchor", "positive"), [("a", "b"), ("a", "c"), ("c", "c")])
    table = read()
    assert (table.texts, table.text_pairs) == (["a", "a", "c"], ["b", "c", "c"])
    np.testing.assert_array_equal(table.labels, [[0, 1], [0, 2], [2, 2]])
    write("train.tsv", ("x", "negative", "y"), [("a", "n", "b"), ("b", "a", "m")])
    table = read(text_column="x", text_pair_column="y")
    assert table.negatives == ["n", "a"]
    np.testing.assert_array_equal(table.labels, [[0, 1, 2], [1, 3, 0]])
    other = read(text_column="x", text_pair_column="y", negative_column="z")
    assert other.negatives is None
    assert other.digest() != table.digest()


def test_scores_are_shares_of_the_largest(write, read):
    rows = [("a", "b", "5"), ("c", "d", "0"), ("e", "f", "2.5")]
    write("train.tsv", ("sentence1", "sentence2", "score"), rows)
    table = read(loss="cosent", max_score=5)
    np.testing.assert_array_equal(table.labels, np.array([1, 0, 0.5], np.float32))
    # InfoNCE learns from the pairs, whatever their scores; a dev set keeps them.
    assert read(loss="info_nce").labels.ndim == 2
    write("dev.tsv", ("sentence1", "sentence2", "score"), rows)
    assert read("dev", max_score=5).labels.ndim == 1


def test_single_texts(write, read):
    write("train.tsv", ("text",), [("a",), ("b",), ("a",)])
    table = read(loss="simcse")
    assert table.text_pairs is None
    np.testing.assert_array_equal(table.labels, [[0, 0], [1, 1], [0, 0]])


def test_a_test_table_needs_no_scores(write, read):
    write("test.tsv", ("anchor", "positive"), [("a", ""), ("b", "c")])
    table = read("test")
    assert table.labels is None
    assert table.text_pairs == ["", "c"]


_PAIR, _SCORED = ("anchor", "positive"), ("text", "text_pair", "score")


@pytest.mark.parametrize(
    ("header", "row", "flags", "message"),
    [
        (_PAIR, ("a",), {}, "train.tsv, line 2: the row lacks field 2"),
        ((*_PAIR, "negative"), ("a", "b", ""), {}, "line 2: a text is empty"),
        (("text",), ("",), {"loss": "simcse"}, "line 2: a text is empty"),
        (
            _SCORED,
            ("a", "b", "-0.1"),
            {"loss": "cosine"},
            "number from 0 to 1; correct",
        ),
        (_SCORED, ("a", "b", "nan"), {"loss": "cosent"}, "the score 'nan' is not"),
        (_SCORED, ("a", "b", "x"), {"loss": "cosent"}, "the score 'x' is not a number"),
        (_PAIR, ("a", "b"), {"loss": "simcse", "text_column": "t"}, "no column 't'"),
    ],
)
def test_bad_rows(write, read, header, row, flags, message):
    write("train.tsv", header, [row])
    with pytest.raises(UserError, match=message) as error:
        read(**flags)
    assert "\n" not in str(error.value)
