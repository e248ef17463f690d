"""Tables of one's own: formats and bad rows."""

import numpy as np
import pytest

from albert_tf.errors import UserError
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


@pytest.mark.parametrize("suffix", [".ndjson", ".jsonlines", ".JSONL", ".CSV", ".Tsv"])
def test_every_suffix_in_any_case(tmp_path, suffix):
    rows = {".csv": 'label,sentence\ngood,"x"\n', ".tsv": "label\tsentence\ngood\tx\n"}
    text = rows.get(suffix.lower(), '{"sentence": "x", "label": "good"}\n')
    assert _read(_write(tmp_path / f"a{suffix}", text)).texts == ["x"]


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
