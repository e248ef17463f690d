"""Files of tagged words: every form and layout, faults in them, and predictions."""

import json
import types

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.results import write_error_page
from albert_tf.tasks.tagging.results import write_predictions
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file

_CONLL = "-DOCSTART- -X- O O\n\nEU NNP B-NP {0}-ORG\nLtd NNP I-NP I-ORG\n. . O O\n"
_CONLL += "\n\n北 X X O\n"


@pytest.fixture
def write(tmp_path):
    """Writes text, bytes or a list of JSON's lines."""

    def write(name, text):
        if isinstance(text, list):
            text = "".join(json.dumps(one) + "\n" for one in text)
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def read(path, role="dev", skip_bad_rows=False, **flags):
    return read_tag_file(path, TagFileFlags(**flags), role, skip_bad_rows)


@pytest.fixture
def read_objects(write):
    return lambda *objects, **more: read(write("a.jsonl", [*objects]), **more)


@pytest.mark.parametrize(("letter", "scheme"), [("B", "iob2"), ("I", "iob1")])
def test_conll(letter, scheme, write):
    file = read(write("a.conll", _CONLL.format(letter)))
    assert (file.form, file.scheme, file.types()) == ("conll", scheme, ["ORG"])
    first, second = file.sentences
    assert (first.text, first.words) == ("EU Ltd .", ["EU", "Ltd", "."])
    assert first.entities == (("ORG", 0, 6),)
    assert (second.text, second.entities) == ("北", ())


def test_any_columns(write):
    text = "0\tB-LOC\tNew York\tx\r\n1\tO\t's\tx\r\n"
    file = read(write("a.txt", text), word_column=2, tag_column=1)
    assert file.sentences[0].words == ["New York", "'s"]
    assert file.sentences[0].entities == (("LOC", 0, 8),)
    bioes = read(write("b.bioes", "S-A a\nO b\n"), word_column=-1, tag_column=-2)
    assert bioes.scheme == "bioes"
    for text, scheme, words in (
        ("a\nb\n\nc", None, [["a", "b"], ["c"]]),
        ("a\nb\n", "plain", [["a", "b"]]),
        ("a DT\nb NN\n", None, [["a", "b"]]),
    ):
        untagged = read(write("c.txt", text), role="test", scheme=scheme).sentences
        assert [own.words for own in untagged] == words
        assert {own.entities for own in untagged} == {None}


def test_white_space_is_no_part_of_columns_tags_and_types(write, read_objects):
    for end in (" ", "\t", " \t ", "\u3000", "\r"):
        text = f"EU \tB-ORG{end}\nrejects\t O{end}\n{end}\nIBM\tB-ORG\nrose\tO"
        file = read(write("a.conll", text))
        assert file.types() == ["ORG"]
        assert [s.words for s in file.sentences] == [["EU", "rejects"], ["IBM", "rose"]]
    tags = {"tokens": ["a", "b", "c"], "tags": ["B-X ", " I- X", "O\u200b"]}
    assert read_objects(tags).sentences[0].entities == (("X", 0, 3),)
    spans = {"text": "a b", "spans": [_span(0, 1, "X "), _span(2, 3, " X")]}
    assert read_objects(spans).types() == ["X"]
    accents = {"tokens": ["a", "b"], "tags": ["B-Cafe\u0301", "B-Caf\u00e9"]}
    assert read_objects(accents).types() == ["Café"]


def test_jsonl(read_objects):
    tokens = read_objects({"tokens": ["a", "b"], "tags": ["B-X", "I-X"], "id": 7})
    assert (tokens.form, tokens.scheme) == ("tokens", "iob2")
    assert tokens.sentences[0].entities == (("X", 0, 3),)
    text = "(Ada) met 北京, Ada's."
    file = read_objects({"text": text, "spans": [_span(10, 12), _span(1, 4)]})
    assert (file.form, file.scheme) == ("spans", None)
    [sentence] = file.sentences
    assert sentence.words == ["(", "Ada", ")", "met", "北", "京", ",", "Ada's", "."]
    assert sentence.entities == (("N", 1, 4), ("N", 10, 12))
    assert sentence.in_words(sentence.entities) == [("N", 1, 2), ("N", 4, 6)]
    # Spaces at the ends do not count; within a word, the whole word is meant.
    wider = read_objects({"text": text, "spans": [_span(5, 10), _span(14, 17)]})
    [sentence] = wider.sentences
    assert sentence.entities == (("N", 6, 9), ("N", 14, 17))
    assert sentence.in_words([("N", 13, 17)]) == [("N", 7, 8)]


def _span(start, end, label="N"):
    return {"start": start, "end": end, "label": label}


_TAGGED = '{"tokens": ["a"], "tags": ["B-%s"]}\n'


def test_bad_lines(write):
    tokens, text = {"tokens": ["a"], "tags": ["O"]}, {"text": "a b"}
    for row, message in (
        ("a B-\n", "line 1: the tag 'B-' is neither"),
        ("a O\n\x00 O\n", "line 1: a text holds a NUL byte"),
        ("\n\n", "a.txt holds no sentence that can be used"),
        (b"\xff O\n", "a.txt is not UTF-8"),
        (_TAGGED.encode() % b"\x80A", "line 1: the line is not UTF-8"),
        ([{"tokens": ["a", " "], "tags": ["O", "O"]}], "' ' is not a word: a text"),
        ([{**tokens, "tags": [3]}], "the tag 3 is not a text, such as B-PER"),
        ([{"tokens": ["a"]}], "tags is None, expected a list"),
        ([{"text": 3, "spans": []}], "text is 3, expected a JSON string"),
        ([{**text, "spans": [_span(1, 2)]}], "span '' .N. contains no whole w"),
        ([{**text, "spans": [_span(0, 1, "")]}], "a span has an empty label"),
        ([{**text, "spans": [{"start": 0}]}], "is not an object with start and"),
        ([{"text": "a-b", "spans": [_span(0, 1), _span(2, 3)]}], "'b' .N. shares a w"),
        ([{**tokens, "tags": ["B-\0"]}], "a label holds a NUL byte"),
        ([{**tokens, "tags": ["B-\ud800"]}], "half of a surrogate pair"),
        ([{**tokens, "\udc9f": 1}], "line is not UTF-8"),
        ([[1]], "the line is not a JSON object"),
    ):
        is_json = isinstance(row, list) or row[:1] == b"{"
        with pytest.raises(UserError, match=message):
            read(write("a.jsonl" if is_json else "a.txt", row))
    # Halves that are escaped make a whole.
    good = write("b.jsonl", _TAGGED % "\\ud83d\\ude00")
    assert read(good).types() == ["\U0001f600"]


def test_a_scheme_that_is_given(write):
    path = write("a.txt", "a I-A\n\nb B-B\nc O\n\nd B-A\n")
    with pytest.raises(UserError, match="1: iob2 does not allow I-A after O; correct"):
        read(path, scheme="iob2")
    file = read(path, scheme="iob2", skip_bad_rows=True)
    assert (len(file), file.num_skipped, file.scheme) == (2, 1, "iob2")
    assert file.lines == ("", "b B-B", "c O", "", "d B-A")
    assert [s.source for s in file.sentences] == [(1, 2), (4,)]
    with pytest.raises(UserError, match="line 1: the line has no column 2, but 2 c"):
        read(path, tag_column=2)


def test_predictions_have_the_form_of_the_file(write, read_objects, tmp_path):
    path = tmp_path / "predictions"

    def written(file, *entities, scheme="iob2"):
        found = [[(*entity, 0.5) for entity in own] for own in entities]
        write_predictions(path, file, found, scheme)
        return path.read_text()

    file = read(write("a.conll", _CONLL.format("I")))
    assert written(file, [("PER", 0, 2), ("PER", 3, 6)], [], scheme="iob1") == (
        "-DOCSTART- -X- O O\n\nEU NNP B-NP I-ORG I-PER\nLtd NNP I-NP I-ORG B-PER\n"
        ". . O O O\n\n\n北 X X O O\n"
    )
    tabs = read(write("a.tsv", "New York\tO\n"))
    assert written(tabs, [("LOC", 0, 8)], scheme="bioes") == "New York\tO\tS-LOC\n"
    tokens = {"tokens": ["北", "京"], "id": 7}
    found = written(read_objects(tokens, role="test"), [("LOC", 0, 3)])
    assert json.loads(found) == {**tokens, "tags": ["B-LOC", "I-LOC"]}
    spans = {"text": "北京", "spans": []}
    found = json.loads(written(read_objects(spans), [("LOC", 0, 2)]))
    assert found == {**spans, "spans": [{**_span(0, 2, "LOC"), "score": 0.5}]}
    # The scheme is that of the file, not of the model.
    task = create_task("tagging", "custom", labels=("O", "B-A", "I-A"), scheme="iob2")
    for tags, expected in (("B-A E-A S-A", "S-A"), ("I-A I-A I-A", "I-A")):
        file = read(write("a.conll", "".join(f"w {tag}\n" for tag in tags.split())))
        prepared = types.SimpleNamespace(examples=file)
        task.write_predicted(tmp_path, "", prepared, (0, 0, [[("A", 2, 3, 0.5)]]))
        lines = (tmp_path / "predictions.conll").read_text().splitlines()
        assert [line.split()[-1] for line in lines] == ["O", expected, "O"]


def test_a_page_of_mistakes(write, tmp_path):
    file = read(write("a.txt", "<b> B-PER\nmet O\n\nAda B-PER\n"))
    found = [[("LOC", 0, 3, 0.5)], [("PER", 0, 3, 0.5)]]
    path = tmp_path / "errors.html"
    write_error_page(path, "a task", file.sentences, found)
    page = path.read_text()
    assert "1 of 2 sentences are not wholly right" in page
    of_both = [f"<bdi>&lt;b&gt; ({kind})" for kind in ("PER", "LOC")]
    assert "Expected: {}</bdi><br>Answered: {}".format(*of_both) in page
    assert '<mark class="gold predicted">&lt;b&gt;</mark> met' in page


_CONLLU = """# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tv\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\t_\t1\tobj\t_\t_
2.1\tir\tir\tVERB\tv\t_\t_\t_\t_\t_
3\tNew York\tNew York\tPROPN\tx\t_\t1\tobl\t_\tTag=B-LOC

# newpar
1\t#\t#\tSYM\ts\t_\t0\troot\t_\t_
"""


def test_conllu(write, tmp_path):
    path = write("a.conllu", _CONLLU)
    file = read(path, scheme="plain")
    assert [s.words for s in file.sentences] == [["Vamos", "nos", "New York"], ["#"]]
    assert file.types() == ["PRON", "PROPN", "SYM", "VERB"]
    assert read(path, scheme="plain", tag_column=4).types() == ["p", "s", "v", "x"]
    with pytest.raises(UserError, match="line 3: the tag 'VERB' .*--scheme=plain"):
        read(path)
    found = [[(*e, 1.0) for e in s.entities] for s in file.sentences]
    write_predictions(tmp_path / "out", file, found, "plain")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[:2] == _CONLLU.splitlines()[:2]
    assert lines[2] == "1\tVamos\tir\tVERB\tv\t_\t0\troot\t_\t_\tVERB"
    blank = _CONLLU.replace("\tVERB", "\t_").replace("\tSYM", "\t_")
    path = write("b.conllu", blank)
    assert read(path, "test", scheme="plain").sentences[0].entities is None
    with pytest.raises(UserError, match="line 3: the word 'Vamos' has no tag"):
        read(path, scheme="plain")


def test_spans_of_doccano_label_studio_and_others(write):
    offsets = {"id": 1, "start_offset": 0, "end_offset": 2, "label": "ORG"}
    chosen = {"start": 0, "end": 2, "text": "EU", "labels": ["ORG"]}
    result = {"type": "labels", "value": chosen}
    text = {"text": "EU rejects"}
    for row in (
        {**text, "label": [[0, 2, "ORG"]]},
        {**text, "labels": [[0, 2, "ORG"]]},
        {**text, "entities": [offsets]},
        {**text, "label": [{"start": 0, "end": 2, "labels": ["ORG"]}]},
        {"tokens": ["EU", "rejects"], "ner_tags": ["B-ORG", "O"]},
        {"data": text, "annotations": [{"result": [result]}]},
    ):
        (sentence,) = read(write("a.json", json.dumps([row]))).sentences
        assert sentence.entities == (("ORG", 0, 2),)
    nobody = {"data": {"text": "EU"}, "annotations": []}
    path = write("test.json", json.dumps([nobody]))
    assert read(path, "test").sentences[0].entities is None
