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


_LONG = "word " * 40_000  # more than the 131,072 characters that csv takes unasked
_TABS, _COMMAS = "label\tsentence", "label,sentence"
_OBJECT = '{"sentence": "x", "label": "good"}\n'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.tsv",
            f'{_TABS}\r\ngood\ta "\u2028b\r\n\r\nbad\t"b\n',
            ['a "\u2028b', '"b'],
        ),
        ("a.csv", f'\ufeff{_COMMAS}\ngood,"a, ""b""\nc"\n', ['a, "b"\nc']),
        ("a.csv", f"{_COMMAS}\ngood,{_LONG}\n", [_LONG]),
        ("a.CSV", f'\n{_COMMAS}\r\n\r\ngood,x\n\n\nbad,"y\n\nz"\n', ["x", "y\n\nz"]),
        ("a.Tsv", f"{_TABS}\ngood\tx\n", ["x"]),
        ("a.JSONL", f"\n{_OBJECT}\n", ["x"]),
        ("a.ndjson", _OBJECT, ["x"]),
        ("a.jsonlines", _OBJECT, ["x"]),
    ],
)
def test_texts_of_every_form(tmp_path, name, text, expected):
    table = _read(_write(tmp_path / name, text))
    assert table.texts == expected
    assert table.text_pairs is None
    assert table.labels.tolist() == [1, 0][: len(expected)]
    assert table.labels.dtype == np.int32


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_a_blank_line_is_a_text_of_a_single_column_alone(tmp_path, name):
    path = _write(tmp_path / name, "\nsentence\na\n\r\nb\n\n")
    table = read_table(path, Columns("sentence"))
    assert (table.texts, table.rows.tolist()) == (["a", "", "b", ""], [0, 1, 2, 3])
    separator = "\t" if name == "a.tsv" else ","
    _write(path, "index,sentence\n\n0,a\n\n1,\n".replace(",", separator))
    table = read_table(path, Columns("sentence"))  # without labels, one may be empty
    assert (table.texts, table.labels) == (["a", ""], None)


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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"ugly\ta", "the label 'ugly' is unknown"),
        (b"good\t ", "a text is empty"),
        (b"good\ta\0b", "a text holds a NUL byte"),
        (b"good\t\xff", "a text is not UTF-8"),
        (b'{"sentence": null, "label": "bad"}', "column 'sentence' is null"),
        (b'{"sentence": ["a"], "label": "bad"}', "expected a text, not"),
        (b"[1]", "the line is not a JSON object"),
        (b"{", "the line is not valid JSON"),
        (b'{"sentence": "x", "label": ' + b"[" * 200_000, ".*nested too deeply"),
    ],
)
def test_a_bad_row_is_named_or_counted(tmp_path, row, message):
    suffix = ".tsv" if b"\t" in row else ".jsonl"
    path, line = tmp_path / f"a{suffix}", 3 if suffix == ".tsv" else 2
    head = "label\tsentence\ngood\tx\n" if suffix == ".tsv" else _OBJECT
    path.write_bytes(head.encode() + row + b"\n")
    with pytest.raises(UserError, match=f"a{suffix}, line {line}: {message}") as error:
        _read(path)
    assert len(str(error.value)) < 500
    table = _read(path, skip_bad_rows=True)
    assert (table.texts, table.num_skipped, table.rows.tolist()) == (["x"], 1, [0])


@pytest.mark.parametrize("skip_bad_rows", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tsv", f"{_TABS}\n", "holds no usable row"),
        ("a.tsv", "", "is empty; expected a header"),
        ("a.txt", "label\n", "must end in one of .tsv, .csv, .jsonl"),
        ("a.csv", f"{_COMMAS}, sentence\ngood,x,y\n", "has 2 columns 'sentence'"),
        ("a.csv", f"{_COMMAS}\ngood,x\n".encode("utf-16"), "is UTF-16, expected"),
        ("a.jsonl", '{"sentence": "x"}\n'.encode("utf-32"), "is UTF-32, expected"),
        ("a.tsv", f"{_TABS}\rgood\tx\r", "ends its lines with CR alone"),
        ("a.tsv", b"\x1f\x8b\x08\0", "is no text but a gzip archive"),
        # A quotation mark that nothing closes.
        (
            "a.csv",
            f'{_COMMAS}\nbad,ok\ngood,"a\nbad,b\n',
            "3: .*unexpected end of data",
        ),
        ("a.csv", f'{_COMMAS}\ngood,"a\nbad,"b"\nbad,c\n', "2: .*',' expected after"),
    ],
)
def test_a_file_that_is_no_table_has_no_bad_rows(
    tmp_path, name, data, message, skip_bad_rows
):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(UserError, match=f"{name},? .*{message}"):
        _read(path, skip_bad_rows=skip_bad_rows)


def test_chinese_reviews_are_read_and_tokenized(shared):
    path = shared("data/classification_zh/ChnSentiCorp_htl_all")
    path = path / "ChnSentiCorp_htl_all.csv"
    columns = Columns("review", None, "label")
    table = _read(path, columns, labels=("0", "1"), skip_bad_rows=True)
    assert (len(table), table.num_skipped) == (7765, 1)
    assert np.bincount(table.labels).tolist() == [2443, 5322]
    tokenizer = load_tokenizer(shared("data/vocab/bert_chinese/vocab.txt"))
    examples = tokenize_texts(table.texts[:200], None, tokenizer, 128)
    assert np.mean(examples.ids == tokenizer.unk_id) < 0.01
