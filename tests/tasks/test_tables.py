"""Tables of one's own, as people have them: formats, cells, labels, bad rows."""

import bz2
import gzip
import hashlib
import json
import lzma
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from albert_tf.errors import UserError
from albert_tf.inference.loading import read_texts
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks import examples
from albert_tf.tasks.classification.custom import custom_examples
from albert_tf.tasks.multiple_choice import questions as choices
from albert_tf.tasks.question_answering import questions
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.similarity.reading import table_of
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.tagging.sentences import Sentence
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tokenized_examples import tokenize_texts
from data_pipeline.text import corpus

_SENTENCES = Columns("sentence", None, "label")


def _file(path, content):
    """Writes text, bytes, or rows, in the form that the name tells."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(content), path)
        return path
    if path.suffix == ".json" and not isinstance(content, str):
        content = json.dumps(content, indent=2)
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def _read(path, columns=_SENTENCES, labels=("bad", "good"), **options):
    task = create_task("single_label", "custom", labels=labels)
    return read_table(path, columns, task.parse_label, **options)


_LONG = "word " * 40_000  # more than the 131,072 characters that csv takes unasked
_TABS, _COMMAS = "label\tsentence", "label,sentence"
_OBJECT = '{"sentence": "x", "label": "good"}\n'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tsv", f'{_TABS}\r\ngood\ta "\u2028b\r\n\r\nbad\t"\n', ['a "\u2028b', '"']),
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
    table = _read(_file(tmp_path / name, text))
    assert (table.texts, table.text_pairs) == (expected, None)
    assert table.labels.tolist() == [1, 0][: len(expected)]
    assert table.labels.dtype == np.int32


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_a_blank_line_is_a_text_of_a_single_column_alone(tmp_path, name):
    path = _file(tmp_path / name, "\nsentence\na\n\r\nb\n\n")
    table = read_table(path, Columns("sentence"))
    assert (table.texts, table.rows.tolist()) == (["a", "", "b", ""], [0, 1, 2, 3])
    separator = "\t" if name == "a.tsv" else ","
    _file(path, "index,sentence\n\n0,a\n\n1,\n".replace(",", separator))
    table = read_table(path, Columns("sentence"))  # without labels, one may be empty
    assert (table.texts, table.labels) == (["a", ""], None)


def test_a_row_with_more_fields_than_columns_is_bad(tmp_path):
    for name, text, columns in (
        ("a.csv", "label,sentence\ngood,ok\ngood,dull, slow\n", _SENTENCES),
        ("a.csv", "sentence,label\nok,good\nso bad, really,bad\n", _SENTENCES),
        ("a.tsv", "label\tsentence\ngood\tok\ngood\tdull\tslow\n", _SENTENCES),
        ("a.tsv", "x\tgood\t\tok\n\nx\tgood\t\tdull\tslow\n", Columns(3, None, 1)),
    ):
        path = _file(tmp_path / name, text)
        with pytest.raises(UserError, match=f"{name}, line 3: the row has . fields, b"):
            _read(path, columns)
        table = _read(path, columns, skip_bad_rows=True)
        assert (table.texts, table.num_skipped) == (["ok"], 1)


def test_a_bad_row_is_named_or_counted(tmp_path):
    for row, message in (
        (b"ugly\ta", "the label 'ugly' is unknown"),
        (b"good\t ", "a text is empty"),
        (b"good\ta\0b", "a text holds a NUL byte"),
        (b"good\t\xff", "a text is not UTF-8"),
        (b'{"sentence": null, "label": "bad"}', "column 'sentence' is null"),
        (b'{"sentence": ["a"], "label": "bad"}', "expected a text, not"),
        (b"[1]", "the line is not a JSON object"),
        (b"{", "the line is not valid JSON"),
        (b'{"sentence": "x", "label": ' + b"[" * 200_000, ".*nested too deeply"),
    ):
        is_table = b"\t" in row
        head = f"{_TABS}\ngood\tx\n" if is_table else _OBJECT
        name, line = ("a.tsv", 3) if is_table else ("a.jsonl", 2)
        path = _file(tmp_path / name, head.encode() + row + b"\n")
        with pytest.raises(UserError, match=f"{name}, line {line}: {message}") as error:
            _read(path)
        assert len(str(error.value)) < 500
        found = _read(path, skip_bad_rows=True)
        assert (found.texts, found.num_skipped, found.rows.tolist()) == (["x"], 1, [0])


def test_how_long_a_text_and_a_list_in_a_cell_may_be(tmp_path, read):
    for length, message in ((2**20, None), (2**20 + 1, "1,048,577 characters, exp")):
        path = _file(tmp_path / "a.tsv", f"{_TABS}\ngood\t{'a' * length}\n")
        if message is None:
            assert len(_read(path).texts[0]) == length
            continue
        with pytest.raises(UserError, match=f"line 2: a text has {message}ected at mo"):
            _read(path)
    # A list has four characters besides the name.
    name = "a" * (2**16 - 5)
    assert read([f'["{name}"]'], suffix=".csv")[0] == [name]
    with pytest.raises(UserError, match="is not a list that can be read"):
        read([f'["{name}a"]'], suffix=".csv")


def test_a_file_that_is_no_table_has_no_bad_rows(tmp_path):
    for name, data, message in (
        ("a.tsv", f"{_TABS}\n", "holds no usable row"),
        ("a.tsv", "", "is empty; expected a header"),
        ("a.txt", "label\n", "must end in one of .tsv, .csv, .jsonl"),
        ("a.csv", f"{_COMMAS}, sentence\ngood,x,y\n", "has 2 columns 'sentence'"),
        ("a.csv", f"{_COMMAS}\ngood,x\n".encode("utf-16"), "is UTF-16, expected"),
        ("a.jsonl", '{"sentence": "x"}\n'.encode("utf-32"), "is UTF-32, expected"),
        ("a.tsv", f"{_TABS}\rgood\tx\r", "ends its lines with CR alone"),
        ("a.tsv", b"\x1f\x8b\x08\0", "is no text but a gzip archive"),
        # A quotation mark that nothing closes.
        ("a.csv", f'{_COMMAS}\nbad,ok\ngood,"a\nbad,b\n', "3: .*unexpected end of d"),
        ("a.csv", f'{_COMMAS}\ngood,"a\nbad,"b"\nbad,c\n', "2: .*',' expected after"),
    ):
        path = _file(tmp_path / name, data)
        for skip_bad_rows in (False, True):
            with pytest.raises(UserError, match=f"{name},? .*{message}"):
                _read(path, skip_bad_rows=skip_bad_rows)


def test_chinese_reviews_are_read_and_tokenized(shared, chinese):
    name, columns = "ChnSentiCorp_htl_all", Columns("review", None, "label")
    path = shared(f"data/classification_zh/{name}") / f"{name}.csv"
    table = _read(path, columns, labels=("0", "1"), skip_bad_rows=True)
    assert (len(table), table.num_skipped) == (7765, 1)
    assert np.bincount(table.labels).tolist() == [2443, 5322]
    examples = tokenize_texts(table.texts[:200], None, chinese, 128)
    assert np.mean(examples.ids == chinese.unk_id) < 0.01


_COLUMNS = Columns("text", None, "label")
_ACUTE = unicodedata.normalize("NFD", "é")


def write(path, labels):
    """Writes a table of texts "a" with such labels."""
    rows = [{"text": "a", "label": label} for label in labels]
    if path.suffix == ".csv":
        cells = (str(label).replace('"', '""') for label in labels)
        rows = "text,label\n" + "".join(f'a,"{cell}"\n' for cell in cells)
    _file(path, rows)


@pytest.fixture
def read(tmp_path):
    """Reads labels of a training and a dev table: the names, and both tables."""

    def tables(train, dev=None, suffix=".jsonl", kind="multi_label", names=(), **more):
        for path in tmp_path.iterdir():
            path.unlink()
        write(tmp_path / f"train{suffix}", train)
        write(tmp_path / f"dev{suffix}", train if dev is None else dev)
        task, found = custom_examples(tmp_path, _COLUMNS, kind, names, **more)
        return list(task.labels), *(table.labels.tolist() for table in found.values())

    return tables


_NAMES = [["joy", "calm"], ["it's", "joy"], []]


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
    expected = ["calm", "it's", "joy"], [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert read(list(labels), suffix=suffix)[:2] == expected


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_vectors_have_the_names_of_labels(read, suffix):
    expected, given = [[0, 1, 0], [1, 0, 1], [0, 0, 0]], ("joy", "anger", "calm")
    for of in (int, float, bool):
        vectors = [list(map(of, vector)) for vector in expected]
        names, train, _ = read(vectors, suffix=suffix, names=given)
        assert (names, train) == ([*given], expected)
        with pytest.raises(UserError, match="repeats a name; .* with --labels"):
            read(vectors, suffix=suffix)
    if suffix == ".parquet":
        return
    two = [[0, 1], [1, 0]]
    assert read(two, suffix=suffix, names=("joy", "calm"))[1] == two
    with pytest.raises(UserError, match="--label_kind=regression has no labels; leave"):
        read([1.0], kind="regression", names=("joy", "calm"))
    with pytest.raises(UserError, match="'label' of .* has vectors of 0 and 1; name"):
        read(two, suffix=suffix)
    # Numbers that are names, of which a row has any.
    expected = ["0", "1"], [[1, 1], [1, 1], [0, 1]]
    assert read([*two, [1]], suffix=suffix)[:2] == expected


def test_cells_that_are_no_list_of_names(read):
    no_lists = ["['joy' 'calm']", "[0 1 0]", "[joy, calm]", "['joy', calm]"]
    repeated = ["a|b|a", '["a", "a "]', '["1", 1]', '["1.0", 1]']
    for cell in no_lists + repeated:
        why = "is not a list that" if cell in no_lists else "repeats a name"
        with pytest.raises(UserError, match=f"line 2: the label .* {why}"):
            read([cell], suffix=".csv")
    assert read(["[music]", "[music]|a"], suffix=".csv")[0] == ["[music]", "a"]
    # A list of one is a label.
    assert read([["a"], "b"], kind="single_label")[:2] == (["a", "b"], [0, 1])
    with pytest.raises(UserError, match=r"the label \[0, 1\] is a list; expected one"):
        read(["[0, 1]", "[1, 0]"], suffix=".csv", kind="single_label")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_nan_is_no_label(read, suffix):
    for kind in ("single_label", "regression"):
        with pytest.raises(UserError, match=r"(line|row) 3: column 'label' is nan"):
            read([1.0, 2.0, float("nan")], suffix=suffix, kind=kind)
    with pytest.raises(UserError, match="line 2: the label nan is not a name"):
        read([["a"], ["a", float("nan")]])


def test_numbers_are_decimal(read):
    for label in ("1_5", "１５", "nan", "0x1", "1,5", "1 5", True):
        with pytest.raises(UserError, match=f"the label '?{label}'? is not a number"):
            read([label], kind="regression")
        with pytest.raises(UserError, match=f"the score '?{label}'? is not a number"):
            table_of([("a", "b")], [label])
    with pytest.raises(UserError, match="line 1: the label 1000"):
        read([10**400], kind="regression")
    numbers = ["1", " -1.5", "+.5", "1e2", "2.", "1E-1"]
    found = read(numbers, suffix=".csv", kind="regression")[1]
    assert found == pytest.approx([1, -1.5, 0.5, 100, 2, 0.1])


def test_what_is_no_label_makes_a_bad_row(read):
    for kind, label, good, message in (
        ("single_label", {"a": 1}, "b", "column 'label' holds an object"),
        ("single_label", "", "b", "the label is empty"),
        ("multi_label", [None], ["b"], "is not a list of names"),
        ("multi_label", ["a\tb"], ["b"], "holds a tab"),
        ("multi_label", ["\ud800"], ["b"], "not UTF-8"),
        ("multi_label", "a\0", ["b"], "a label holds a NUL byte"),
        ("regression", [1], 2, r"the label \[1\] is not a number"),
        ("regression", -4e38, 2, "the label .* is not a number"),
    ):
        others = [good, good, *["c"] * (kind == "single_label")]
        with pytest.raises(UserError, match=f"train.jsonl, line 1: .*{message}"):
            read([label, *others], others, kind=kind)
        found = read([label, *others], others, kind=kind, skip_bad_rows=True)
        expected = {"single_label": ["b", "c"], "multi_label": ["b"], "regression": []}
        assert (found[0], len(found[1])) == (expected[kind], len(others))


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


def test_white_space_around_labels_is_none_of_them(read):
    spaced = ["a", " a", "a ", "\u3000a\xa0", "a\u200b", "\ufeffa", "b"]
    found = read(spaced, kind="single_label")
    assert found[:2] == (["a", "b"], [0] * 6 + [1])
    found = read([*spaced, "a | b", ["b ", " a"]])
    assert found[:2] == (["a", "b"], [[1, 0]] * 6 + [[0, 1], [1, 1], [1, 1]])
    # Labels that a model tells apart by spaces stay apart.
    task = create_task("single_label", "custom", labels=("a", "a ", " b"))
    assert list(map(task.parse_label, ["a", "a ", "b", " b"])) == [0, 1, 2, 2]


def test_columns_have_one_spelling(tmp_path):
    given = Columns("t\u00e9xt", None, "label"), "single_label", ("1", "2")
    for suffix, text in (
        (".tsv", f"t{_ACUTE}xt\tlabel\nx\t1\ny\t2\n"),
        (".jsonl", [{f"t{_ACUTE}xt": "x", "label": "1"}]),
    ):
        path = _file(tmp_path / f"test{suffix}", text)
        _, tables = custom_examples(tmp_path, *given, required=())
        assert tables["test"].texts[0] == "x"
        path.unlink()


def test_custom_examples_discover_sorted_labels(tmp_path):
    for role, text in (
        ("train", "label\ttext\njunk\t\nb\tx\na\ty\nb\tz\n"),
        ("dev", "text\tlabel\nx\tb\n"),
        ("test", "text\nx\n"),
    ):
        (tmp_path / f"{role}.tsv").write_text(text)
    given = tmp_path, _COLUMNS, "single_label"
    task, tables = custom_examples(*given, skip_bad_rows=True)
    # Rows that are left out bring no label.
    assert (task.labels, task.num_outputs) == (("a", "b"), 2)
    assert tables["train"].labels.tolist() == [1, 0, 1]
    assert tables["dev"].labels.tolist() == [1]
    assert tables["test"].labels is None
    (tmp_path / "test.tsv").write_text("label\ttext\nb\tx\na\ty\n")
    _, tables = custom_examples(*given, labels=("b", "a"), skip_bad_rows=True)
    assert tables["train"].labels.tolist() == [0, 1, 0]
    assert tables["test"].labels.tolist() == [0, 1]


def test_hidden_labels_of_a_test_table_are_none(tmp_path):
    for role in ("train", "dev"):
        write(tmp_path / f"{role}.jsonl", [1, 2])
    rows = [{"label": -1, "text": "x"}, {"label": "", "text": "y"}]
    rows.append({"label": None, "text": ""})
    for name, text in (
        ("test.tsv", "label\ttext\n-1 \tx\n \ty\n-1\t\n"),
        ("test.jsonl", rows),
    ):
        path = _file(tmp_path / name, text)
        table = custom_examples(tmp_path, _COLUMNS, "multi_label")[1]["test"]
        assert (table.is_labelled, table.labels) == (False, None)
        assert table.texts == ["x", "y", ""]
        path.unlink()


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


def _chosen(*names):
    """A task of Label Studio on whose text somebody has chosen labels."""
    result = {"type": "choices", "value": {"choices": list(names)}}
    return {"id": 1, "data": {"text": "a"}, "annotations": [{"result": [result]}]}


def test_what_label_studio_exports(tmp_path):
    def examples(rows, roles=("train",)):
        for role in roles:
            _file(tmp_path / f"{role}.json", rows)
        return custom_examples(tmp_path, _COLUMNS, "multi_label", required=())

    for rows in (
        [_chosen("x"), _chosen("y", "x")],
        [{"text": "a", "label": {"choices": ["x", "y"]}}],
    ):
        task, tables = examples(rows, ("train", "validation"))
        assert task.labels == ("x", "y")
        assert tables["dev"].labels.sum() == len(rows) + 1
    two = _chosen("x", "y")
    two["annotations"].append({"result": []})
    with pytest.raises(UserError, match="row 2: the task has 2 annotations, expected"):
        examples([_chosen("x"), two])
    two["annotations"][1]["was_cancelled"] = True
    assert examples([two])


_CHOICE = choices.Question("1", "a b", "what?", ("x", "y"), 1, "high")
_SENTENCE = Sentence("1", "a b", ((0, 1), (2, 3)), (("PER", 0, 1),))
_ASKED = Question("1", "who?", (Answer("b", 2),))
_PARAGRAPH = questions.Paragraph("a b", (_ASKED,), "t")
_TABLE = ["a", "b"], ["c", "d"], np.array([1, 0], np.int32), np.arange(2)


@pytest.mark.parametrize(
    ("own", "digest"),
    [
        (examples.Table("t", *_TABLE), "be060cf37387dc7e"),
        (choices.ChoiceFile("c", (_CHOICE,)), "aa8ac413b67b2167"),
        (TagFile("s", (_SENTENCE,), "tokens"), "08d766fb3e022fdc"),
        (questions.QuestionFile("q", (_PARAGRAPH,)), "78a98c930f3f0f97"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_digests_are_those_that_earlier_runs_store(own, digest):
    assert own.digest().startswith(digest)
    assert own.inputs_digest() != own.digest()
    assert own.is_labelled and len(own) > 0
    assert examples.of_role({"a": own}, "dev") == {"a": own}
    assert examples.of_role({"a": own}, "test") == {}
    table = examples.Table("t", *_TABLE[:2], None, _TABLE[3])
    digest = hashlib.sha256(table.inputs_digest().encode()).hexdigest()
    assert (table.digest(), table.is_labelled) == (digest, False)


def test_files_of_a_folder(tmp_path):
    for name in ("train.TSV", "dev.csv", "test.txt", "other.tsv"):
        (tmp_path / name).touch()
    given = tmp_path, (".tsv", ".csv")
    found = examples.files_by_role(*given, ("train",))
    expected = [("train", tmp_path / "train.TSV"), ("dev", tmp_path / "dev.csv")]
    assert [*found.items()] == expected
    with pytest.raises(UserError, match="has no test.tsv or test.csv; name the fold"):
        examples.files_by_role(*given, ("test",))
    with pytest.raises(UserError, match="has no test.csv; name the folder of the tes"):
        examples.files_by_role(*given, ("test",), (".csv",))
    (tmp_path / "train.csv").touch()
    with pytest.raises(UserError, match="has train.TSV and train.csv; keep one of"):
        examples.files_by_role(*given, ())


PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst", ".GZ"])
def test_packed_tables_and_corpora(tmp_path, ending):
    pack = PACK[ending.lower()]
    for role in ("train", "validation"):
        path = tmp_path / f"{role}.tsv{ending}"
        path.write_bytes(pack(b"label\ttext\nx\ta\ny\tb\n"))
    _, tables = custom_examples(tmp_path, _COLUMNS, "single_label")
    assert tables["dev"].texts == tables["train"].texts == ["a", "b"]
    assert read_texts(path) == (["a", "b"], None)
    lines = tmp_path / f"texts.txt{ending}"
    data = b"One.\n\nTwo.\n"

    def documents():
        files = corpus.find_files(str(lines))
        return [own.segments for own in corpus.Reader(files).documents(0, 1)]

    for content in (pack(data), pack(data[:5]) + pack(data[5:])):
        lines.write_bytes(content)
        assert documents() == [["One."], ["Two."]]
        assert read_texts(lines)[0] == ["One.", "", "Two."]
    for damaged in (pack(data)[:-4], b"plain"):
        lines.write_bytes(damaged)
        for reader in (lambda: read_texts(lines), documents):
            with pytest.raises(UserError, match="txt.* cannot be read: .*; mend"):
                reader()


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


def test_json_lists_that_are_none_or_hold_bad_rows(tmp_path):
    path = tmp_path / "a.json"
    no_list = "is not valid JSON; expected a li"
    for text, message in {
        '[{"a": 1}': f"row 1 {no_list}",
        '[{"a": 1} {"a": 2}]': f"row 1 {no_list}",
        '[{"a": 1},': f"row 2 {no_list}",
        "[": f"row 1 {no_list}",
        '[{"a": 1}]\n[{"a": 2}]': "has more behind its list; expected",
    }.items():
        path.write_text(text)
        with pytest.raises(UserError, match=f"a.json,? {message}"):
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
    first, second = questions.read_paragraphs(_file(tmp_path / f"train{suffix}", rows))
    assert (first.title, first.context, second.context) == ("T", "a b", "c")
    assert first.questions == (
        Question("1", "q1", (Answer("b", 2), Answer("a", 0))),
        Question("2", "q2", is_impossible=True),
    )
    assert second.questions == (Question("3", "q3", (Answer("c", 0),)),)
    for row, message in (
        (_row("1", "a", ["a"], []), r"line 1: the answers are .*expected \{"),
        ({"id": "1", "question": "q"}, "paragraph of the article '' has no 'context'"),
        ([1], "line 1: expected a question, got the line is not a JSON object"),
    ):
        with pytest.raises(UserError, match=message):
            [*questions.read_paragraphs(_file(tmp_path / "a.jsonl", [row]))]
