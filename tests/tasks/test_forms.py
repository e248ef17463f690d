"""Files as people have them: by their names, packed, and as other programs write."""

import bz2
import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.parquet
import pytest

from albert_tf.errors import UserError
from albert_tf.inference.loading import read_texts
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.tables import Columns
from data_pipeline.text import corpus

_PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
_PACK[".zst"] = lambda data: pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst", ".GZ"])
def test_packed_tables_and_corpora(tmp_path, ending):
    pack = _PACK[ending.lower()]
    for role in ("train", "validation"):
        path = tmp_path / f"{role}.tsv{ending}"
        path.write_bytes(pack(b"label\ttext\nx\ta\ny\tb\n"))
    _, tables = custom_examples(
        tmp_path, Columns("text", None, "label"), "single_label"
    )
    assert (tables["dev"].texts, tables["train"].texts) == (["a", "b"], ["a", "b"])
    assert read_texts(path) == (["a", "b"], None)
    lines = tmp_path / f"texts.txt{ending}"
    data = b"One.\n\nTwo.\n"
    for content in (pack(data), pack(data[:5]) + pack(data[5:])):
        lines.write_bytes(content)
        documents = corpus.Reader(corpus.find_files(str(lines))).documents(0, 1)
        assert [document.segments for document in documents] == [["One."], ["Two."]]
        assert read_texts(lines)[0] == ["One.", "", "Two."]
    for damaged in (pack(data)[:-4], b"plain"):
        lines.write_bytes(damaged)
        for reader in (read_texts, lambda p: [*corpus.Reader([p]).documents(0, 1)]):
            given = lines if reader is read_texts else corpus.File(str(lines), 9)
            with pytest.raises(
                UserError, match=f"{lines.name} cannot be read: .*; mend"
            ):
                reader(given)


_ROWS = [{"a": "é [,]"}, {"a": 1, "b": {"c": []}}, {}]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("block", [1, 2**16])
def test_json_lists(tmp_path, monkeypatch, indent, block):
    monkeypatch.setattr("albert_tf.io.table_rows._BLOCK", block)
    path = tmp_path / "a.json"
    path.write_text("\ufeff " + json.dumps(_ROWS, indent=indent, ensure_ascii=False))
    assert [fields for _, fields in read_rows(path)] == _ROWS
    path.write_text(" [ ] ")
    assert [*read_rows(path)] == []
    path.write_text("".join(json.dumps(row) + "\n" for row in _ROWS))
    assert [fields for _, fields in read_rows(path)] == _ROWS


@pytest.mark.parametrize(
    ("text", "row"),
    [('[{"a": 1}', 1), ('[{"a": 1} {"a": 2}]', 1), ('[{"a": 1},', 2), ("[", 1)],
)
def test_json_lists_that_are_none(tmp_path, text, row):
    path = tmp_path / "a.json"
    path.write_text(text)
    message = f"a.json, row {row} is not valid JSON; expected a li"
    with pytest.raises(UserError, match=message):
        [*read_rows(path)]


def test_values_of_a_json_list_are_bad_rows(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}]\n[{"a": 2}]')
    with pytest.raises(UserError, match="a.json has more behind its list; expected"):
        [*read_rows(path)]
    path.write_text('[{"a": 1}, 2, {"a": 1, "a": 2}]')
    (_, good), (where, bad), (_, twice) = read_rows(path)
    assert (good, where) == ({"a": 1}, f"{path}, row 2")
    assert str(bad) == "the row is not a JSON object"
    assert "sets 'a' twice" in str(twice)


def _row(number, context, texts, starts):
    answers = {"text": texts, "answer_start": starts}
    row = {"id": number, "title": "T", "context": context, "question": f"q{number}"}
    return {**row, "answers": answers}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".jsonl.gz"])
def test_rows_of_squad(tmp_path, suffix):
    rows = [_row("1", "a b", ["b", "a"], [2, 0]), _row("2", "a b", [], [])]
    rows.append(_row("3", "c", ["c"], [0]))
    path = tmp_path / f"train{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if ".gz" in suffix else data)
    first, second = read_paragraphs(path)
    assert (first.title, first.context, second.context) == ("T", "a b", "c")
    assert first.questions == (
        Question("1", "q1", (Answer("b", 2), Answer("a", 0))),
        Question("2", "q2", is_impossible=True),
    )
    assert second.questions == (Question("3", "q3", (Answer("c", 0),)),)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_row("1", "a", ["a"], []), r"line 1: the answers are .*expected \{"),
        (
            {"id": "1", "question": "q"},
            "a paragraph of the article '' has no 'context'",
        ),
        ([1], "line 1: expected a question, got the line is not a JSON object"),
    ],
)
def test_rows_that_are_no_questions(tmp_path, row, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(UserError, match=message):
        [*read_paragraphs(path)]
