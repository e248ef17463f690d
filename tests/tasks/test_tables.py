"""Tables of one's own: formats, bad rows, labels of each kind."""

import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer

_COLUMNS = Columns("sentence", None, "label")


def _write(path, text):
    path.write_bytes(text.encode())
    return path


def _read(path, columns=_COLUMNS, labels=("bad", "good"), **options):
    task = create_task("single_label", "custom", labels=labels)
    return read_table(path, columns, task.parse_label, **options)


def test_tsv_has_no_quoting_and_keeps_other_line_ends(tmp_path):
    text = 'label\tsentence\r\ngood\tan "odd\u2028one\r\n\r\nbad\t"b\n'
    table = _read(_write(tmp_path / "a.tsv", text))
    assert table.texts == ['an "odd\u2028one', '"b']
    assert table.labels.tolist() == [1, 0]
    assert table.labels.dtype == np.int32
    assert table.text_pairs is None


def test_csv_is_quoted(tmp_path):
    text = '\ufefflabel,sentence\ngood,"one, ""two""\nthree"\n'
    assert _read(_write(tmp_path / "a.csv", text)).texts == ['one, "two"\nthree']


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        ('bad,ok\ngood,"one\nbad,two\nbad,three\n', 3, "unexpected end of data"),
        ('good,"one\nbad,"two"\nbad,three\n', 2, "',' expected after '\"'"),
    ],
)
@pytest.mark.parametrize("skip_bad_rows", [False, True])
def test_csv_with_an_open_quotation_mark_names_the_row(
    tmp_path, rows, line, problem, skip_bad_rows
):
    path = _write(tmp_path / "a.csv", "label,sentence\n" + rows)
    message = f"a.csv, line {line}: .*{problem}.*check its quotation marks"
    with pytest.raises(UserError, match=message):
        _read(path, skip_bad_rows=skip_bad_rows)


def test_csv_passes_over_blank_lines(tmp_path):
    text = '\nlabel,sentence\r\n\r\ngood,x\n\n\nbad,"y\n\nz"\n\nugly,u\n'
    path = _write(tmp_path / "a.csv", text)
    with pytest.raises(UserError, match="a.csv, line 11: the label 'ugly' is unknown"):
        _read(path)
    table = _read(path, skip_bad_rows=True)
    assert (table.texts, table.rows.tolist()) == (["x", "y\n\nz"], [0, 1])


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.csv", "label,sentence\ngood,ok\ngood,dull, slow\n", _COLUMNS),
        ("a.csv", "sentence,label\nok,good\nso bad, really,bad\n", _COLUMNS),
        ("a.tsv", "label\tsentence\ngood\tok\ngood\tdull\tslow\n", _COLUMNS),
        ("a.tsv", "x\tgood\t\tok\n\nx\tgood\t\tdull\tslow\n", Columns(3, None, 1)),
    ],
)
def test_a_row_with_more_fields_than_columns_is_bad(tmp_path, name, text, columns):
    path = _write(tmp_path / name, text)
    with pytest.raises(UserError, match=f"{name}, line 3: the row has . fields, but"):
        _read(path, columns)
    table = _read(path, columns, skip_bad_rows=True)
    assert (table.texts, table.num_skipped) == (["ok"], 1)


def test_columns_of_one_name_are_refused(tmp_path):
    path = _write(tmp_path / "a.csv", "label,sentence, sentence\ngood,x,y\n")
    with pytest.raises(UserError, match="a.csv has 2 columns 'sentence'"):
        _read(path)


@pytest.mark.parametrize("name", ["a.ndjson", "a.jsonlines", "a.JSONL", "a.NdJson"])
def test_every_suffix_of_json_lines(tmp_path, name):
    path = _write(tmp_path / name, '{"sentence": "x", "label": "good"}\n')
    assert _read(path).texts == ["x"]


def test_suffixes_count_in_any_case(tmp_path):
    assert _read(_write(tmp_path / "a.CSV", 'label,sentence\ngood,"x, y"\n')).texts
    assert _read(_write(tmp_path / "a.Tsv", "label\tsentence\ngood\tx\n")).texts


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", "label,sentence\ngood,x\n".encode("utf-16"), "is UTF-16, expected"),
        ("a.jsonl", '{"sentence": "x"}\n'.encode("utf-32"), "is UTF-32, expected"),
        ("a.tsv", b"label\tsentence\rgood\tx\r", "ends its lines with CR alone"),
        ("a.tsv", b"\x1f\x8b\x08\0", "is no text but a gzip archive"),
    ],
)
def test_a_file_that_is_no_utf8_is_no_table_of_bad_rows(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    for skip in (False, True):
        with pytest.raises(UserError, match=f"{name} {message}"):
            _read(tmp_path / name, skip_bad_rows=skip)


def test_csv_fields_may_be_long(tmp_path):
    text = "word " * 40_000  # more than the 131,072 characters that csv takes unasked
    path = _write(tmp_path / "a.csv", f"label,sentence\ngood,{text}\n")
    assert _read(path).texts == [text]


def test_jsonl_takes_numbers_and_pairs(tmp_path):
    path = _write(tmp_path / "a.jsonl", '{"a": "x", "b": "y", "label": 1}\n')
    table = _read(path, Columns("a", "b", "label"), labels=("0", "1"))
    assert (table.texts, table.text_pairs, table.labels) == (["x"], ["y"], [1])


def test_unlabelled_table_may_have_empty_texts(tmp_path):
    path = _write(tmp_path / "a.tsv", "index\tsentence\n0\t\n1\tx\n")
    table = _read(path, Columns("sentence"))
    assert (table.texts, table.labels) == (["", "x"], None)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_blank_line_of_a_single_column_is_an_empty_text(tmp_path, name):
    path = _write(tmp_path / name, "\nsentence\na\n\r\nb\n\n")
    table = read_table(path, Columns("sentence"))
    assert (table.texts, table.rows.tolist()) == (["a", "", "b", ""], [0, 1, 2, 3])


def test_blank_lines_of_several_columns_are_passed_over(tmp_path):
    for name, row in (("a.tsv", "0\ta"), ("a.csv", "0,a")):
        header = row.replace("0", "index").replace("a", "sentence")
        path = _write(tmp_path / name, f"{header}\n\n{row}\n\n")
        assert read_table(path, Columns("sentence")).texts == ["a"]
    path = _write(tmp_path / "a.jsonl", '\n{"sentence": "a"}\n\n')
    assert read_table(path, Columns("sentence")).texts == ["a"]


_BAD = {
    "a.tsv": "label\tsentence\ngood\tok\n%s\n",
    "unknown label": "ugly\ta",
    "empty": "good\t ",
    "lacks column 'sentence'|lacks field 2": "good",
    "NUL byte": "good\ta\0b",
}


@pytest.mark.parametrize("message", list(_BAD)[1:])
def test_bad_row_is_named_or_counted(tmp_path, message):
    path = _write(tmp_path / "a.tsv", _BAD["a.tsv"] % _BAD[message])
    expected = message.replace("unknown label", "label 'ugly' is unknown")
    with pytest.raises(UserError, match=f"a.tsv, line 3: .*({expected})"):
        _read(path)
    table = _read(path, skip_bad_rows=True)
    assert (table.texts, table.num_skipped, table.rows.tolist()) == (["ok"], 1, [0])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "klass\tsentence\nx\ty\n", "has no column 'label' in its header"),
        ("a.tsv", "label\tsentence\n", "holds no usable row"),
        ("a.tsv", "", "a.tsv is empty; expected a header"),
        ("a.txt", "label\n", "must end in one of .tsv, .csv, .jsonl"),
        ("a.jsonl", "[1]\n", "line 1: the line is not a JSON object"),
        ("a.jsonl", "{\n", "line 1: the line is not valid JSON"),
        ("a.jsonl", '{"sentence": null, "label": "x"}', "'sentence' is null"),
        ("a.jsonl", '{"sentence": ["a"], "label": "x"}', "expected a text, not"),
    ],
)
def test_bad_file_is_one_clear_error(tmp_path, name, text, message):
    with pytest.raises(UserError, match=message):
        _read(_write(tmp_path / name, text))


def test_missing_and_undecodable_files(tmp_path):
    with pytest.raises(UserError, match="none.tsv cannot be read"):
        _read(tmp_path / "none.tsv")
    (tmp_path / "a.tsv").write_bytes(b"label\tsentence\ngood\t\xff\n")
    with pytest.raises(UserError, match="a.tsv, line 2: a text is not UTF-8"):
        _read(tmp_path / "a.tsv")


def test_a_row_nested_without_end_is_a_bad_row(tmp_path):
    good = '{"sentence": "x", "label": "bad"}\n'
    deep = '{"sentence": "x", "label": ' + "[" * 200_000 + "\n"
    _write(tmp_path / "a.jsonl", good + deep)
    with pytest.raises(
        UserError, match="a.jsonl, line 2: .*nested too deeply"
    ) as error:
        _read(tmp_path / "a.jsonl")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("kind", "label", "good", "message"),
    [
        (
            "single_label",
            '["a"]',
            '"b"',
            r"the label \['a'\] is a list; expected one name",
        ),
        ("single_label", '{"a": 1}', '"b"', "column 'label' holds an object"),
        ("single_label", '""', '"b"', "the label is empty"),
        ("multi_label", '[["a"]]', '["b"]', "is not a list of names"),
        ("multi_label", "[null]", '["b"]', "is not a list of names"),
        ("regression", "[1]", "2", r"the label \[1\] is not a number"),
        ("regression", "1e308", "2", r"the label '1e\+308' is not a number"),
        ("regression", "-4e38", "2", "the label .* is not a number"),
        ("regression", '{"a": 1}', "2", "column 'label' holds an object"),
    ],
)
def test_label_of_a_wrong_shape_is_a_bad_row(tmp_path, kind, label, good, message):
    rows = [f'{{"sentence": "x", "label": {raw}}}\n' for raw in (label, good, good)]
    other = '{"sentence": "y", "label": "c"}\n' if kind == "single_label" else ""
    for role in ("train", "dev"):
        _write(tmp_path / f"{role}.jsonl", "".join(rows) + other)

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
    _write(tmp_path / "dev.tsv", "label\tsentence\nb\tx\n")
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
        _write(tmp_path / f"{role}.tsv", "label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match=f"^--labels={labels} {problem}"):
        custom_examples(tmp_path, _COLUMNS, "multi_label", tuple(labels.split(",")))


def test_rows_left_out_bring_no_label(tmp_path):
    _write(tmp_path / "train.tsv", "label\tsentence\njunk\t\nb\tx\na\ty\n")
    _write(tmp_path / "dev.tsv", "label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="train.tsv, line 2: a text is empty"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    task, tables = custom_examples(
        tmp_path, _COLUMNS, "single_label", skip_bad_rows=True
    )
    assert task.labels == ("a", "b")


def test_multi_label_vectors(tmp_path):
    _write(tmp_path / "train.tsv", "label\tsentence\nb|a\tx\n\ty\nc\tz\n")
    _write(tmp_path / "dev.jsonl", '{"sentence": "x", "label": ["c", "a"]}\n')
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
        _write(tmp_path / f"{role}.jsonl", text)
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


def test_a_blank_label_is_none(tmp_path):
    _write(tmp_path / "train.csv", "label,sentence\n  ,x\n")
    with pytest.raises(UserError, match="train.csv, line 2: the label is empty"):
        custom_examples(tmp_path, _COLUMNS, "single_label", required=())


def test_regression_values(tmp_path):
    for role in ("train", "dev"):
        _write(tmp_path / f"{role}.tsv", "label\tsentence\n1.5 \tx\n\u200b2\ty\n")
    task, tables = custom_examples(tmp_path, _COLUMNS, "regression")
    labels = tables["train"].labels
    assert (task.num_outputs, labels.dtype) == (1, np.float32)
    assert labels.tolist() == [1.5, 2.0]
    _write(tmp_path / "dev.tsv", "label\tsentence\nnan\tx\n")
    with pytest.raises(UserError, match="dev.tsv, line 2: the label 'nan' is not a"):
        custom_examples(tmp_path, _COLUMNS, "regression")


def test_absent_tables_and_single_label_are_errors(tmp_path):
    with pytest.raises(UserError, match="has no train.tsv"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    _write(tmp_path / "train.tsv", "label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="has no dev.tsv"):
        custom_examples(tmp_path, _COLUMNS, "single_label")
    _write(tmp_path / "dev.tsv", "label\tsentence\nb\tx\n")
    with pytest.raises(UserError, match="has 1 label"):
        custom_examples(tmp_path, _COLUMNS, "single_label")


def test_chinese_reviews_are_read_and_tokenized(shared):
    path = shared("data/classification_zh/ChnSentiCorp_htl_all")
    path = path / "ChnSentiCorp_htl_all.csv"
    columns = Columns("review", None, "label")
    with pytest.raises(UserError, match="line 6376: a text is empty"):
        _read(path, columns, labels=("0", "1"))
    table = _read(path, columns, labels=("0", "1"), skip_bad_rows=True)
    assert (len(table), table.num_skipped) == (7765, 1)
    assert np.bincount(table.labels).tolist() == [2443, 5322]
    tokenizer = load_tokenizer(shared("data/vocab/bert_chinese/vocab.txt"))
    examples = tokenize_texts(table.texts[:200], None, tokenizer, 128)
    assert np.mean(examples.ids == tokenizer.unk_id) < 0.01
