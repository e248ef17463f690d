"""Any table, file of questions or tags is read as written, or refused by name."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tasks import tables
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.schemes import entities_of
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file
from tools.fuzz import inputs
from tools.fuzz.inputs import json_files

_LABELS = ("bad", "good")
_COLUMNS = tables.Columns("text", "pair", "label")
_GOOD_TEXTS = inputs.TEXTS.map("x{}".format) | st.just('"')
_ROW = st.tuples(_GOOD_TEXTS, _GOOD_TEXTS, st.sampled_from(_LABELS))
_ROWS = st.lists(_ROW, min_size=1)
_NOISE = st.sampled_from(
    [*'",\t\n\r{}[]:x\0', '"', "\n", "\r\n", "text", "pair", "label", "good", "bad"]
    + ["text,pair,label\n", "text\tpair\tlabel\n", "x,y,good\n", "x\ty\tbad\n"]
    + ['{"text": "x", "pair": "y", "label": "good"}\n', "\udcff", "\ufeff"]
)
_TASKS = {"single_label": _LABELS, "multi_label": _LABELS, "regression": ()}
_PARSERS = {
    kind: create_task(kind, "custom", labels=labels).parse_label
    for kind, labels in _TASKS.items()
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def read(path, kind="single_label", **options):
    return tables.read_table(path, _COLUMNS, _PARSERS[kind], **options)


def written(suffix, rows):
    """The text of a table."""
    names = ("label", "text", "pair")
    if suffix == ".jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        return "\n".join(lines)
    if suffix == ".tsv":
        return "\n".join("\t".join(row) for row in [names, *rows])
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows([names, *rows])
    return file.getvalue()


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
@given(rows=_ROWS)
def test_what_is_written_is_read(folder, suffix, rows):
    if suffix == ".tsv":  # which cannot hold what separates its fields and rows
        replaced = str.maketrans("\t\n\r", "   ")
        rows = [tuple(field.translate(replaced) for field in row) for row in rows]
    path = folder / f"round{suffix}"
    text = written(suffix, [(label, a, b) for a, b, label in rows])
    path.write_bytes(text.encode("utf-8"))
    table = read(path)
    expected = [(a, b, _LABELS.index(label)) for a, b, label in rows]
    found = zip(table.texts, table.text_pairs, table.labels.tolist(), strict=True)
    assert list(found) == expected
    assert table.rows.tolist() == list(range(len(rows)))


@st.composite
def files(draw):
    """Contents of tables that are right, nearly, or not at all; and their suffix."""
    suffix = draw(st.sampled_from([".tsv", ".csv", ".jsonl"]))
    if draw(st.booleans()):
        text = "".join(draw(st.lists(_NOISE, max_size=30)))
        return text.encode("utf-8", "surrogateescape"), suffix
    rows = [("good", "x", "y"), ("bad", 'a "z"', "b")]
    if suffix == ".jsonl":
        rows += draw(st.lists(st.tuples(*[inputs.JSON] * 3), max_size=3))
    data = written(suffix, rows).encode()
    return draw(inputs.damaged(data) | st.just(data)), suffix


@pytest.mark.slow
@given(file=files(), kind=st.sampled_from(sorted(_PARSERS)))
def test_any_file_is_a_table_or_refused(folder, file, kind):
    data, suffix = file
    path = folder / f"any{suffix}"
    path.write_bytes(data)
    try:
        lenient = read(path, kind, skip_bad_rows=True)
    except UserError as error:
        assert str(path) in str(error)
        with pytest.raises(UserError):
            read(path, kind)
        return
    assert all(text.strip() for text in lenient.texts + lenient.text_pairs)
    rows = lenient.rows.tolist()
    assert rows == sorted(set(rows)) and len(lenient) == len(rows)
    assert rows[-1] < len(lenient) + lenient.num_skipped
    try:
        strict = read(path, kind)
    except UserError as error:
        assert lenient.num_skipped
        assert f"{path}, line " in str(error)
    else:
        assert not lenient.num_skipped
        assert strict.digest() == lenient.digest()


def read_or_refused(read, path):
    """Returns what is read, or None of a file that one line refuses by its name."""
    try:
        return read(path)
    except UserError as error:
        assert str(path) in str(error) and len(str(error).splitlines()) == 1
        return None


_ANSWER = {"text": "b c", "answer_start": 2}
_QUESTIONS = [
    {"id": "1", "question": "a ?", "answers": [_ANSWER]},
    {"id": "2", "question": "b ?", "is_impossible": True, "answers": []},
]
_PARAGRAPHS = [{"context": "a b c", "qas": _QUESTIONS}]
_SQUAD = {"version": "v2.0", "data": [{"title": "t", "paragraphs": _PARAGRAPHS}]}


@given(data=json_files(_SQUAD))
def test_paragraphs_are_those_of_the_file_or_refused(folder, data):
    path = folder / "squad.json"
    path.write_bytes(data)
    paragraphs = read_or_refused(lambda path: list(read_paragraphs(path)), path)
    if paragraphs is None:
        return
    articles = json.loads(data)["data"]
    expected = [paragraph for own in articles for paragraph in own["paragraphs"]]
    assert [p.context for p in paragraphs] == [p["context"] for p in expected]
    for paragraph, one in zip(paragraphs, expected, strict=True):
        for question, qa in zip(paragraph.questions, one["qas"], strict=True):
            answers = [] if qa.get("is_impossible") else qa.get("answers", [])
            assert (question.id, question.text) == (qa["id"], qa["question"])
            assert [(a.text, a.start) for a in question.answers] == [
                (a["text"], a["answer_start"]) for a in answers
            ]


_TAGS = st.sampled_from(
    ["O", "B-A", "I-A", "E-A", "S-A", "I-B", "B-", "X", "-DOCSTART-"]
)
_WORDS = st.sampled_from(["a", "北", "\u200b", "\u3000", "-DOCSTART-", "#", '"'])
_LINES = st.lists(
    st.tuples(_WORDS, st.sampled_from([" ", "\t", "  ", "\r"]), _TAGS).map("".join)
    | st.sampled_from(["", " ", "\ufeff", "a"])
)


@given(lines=_LINES, skip=st.booleans())
def test_tagged_words_are_those_of_the_file_or_refused(folder, lines, skip):
    path = folder / "a.conll"
    path.write_bytes("\n".join(lines).encode())
    flags = TagFileFlags()
    file = read_or_refused(lambda p: read_tag_file(p, flags, skip_bad_rows=skip), path)
    for sentence in [] if file is None else file.sentences:
        rows = [file.lines[place].split() for place in sentence.source]
        assert sentence.words == [row[0] for row in rows]
        tags = [row[-1] for row in rows]
        assert sentence.in_words(sentence.entities) == entities_of(tags)
