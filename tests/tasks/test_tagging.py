"""Tagging of words: files, schemes, rows, decoders, run_tagging to its files."""

import itertools
import json
import logging
import random
import types

import numpy as np
import pytest
import seqeval.metrics

from albert_tf.errors import UserError
from albert_tf.tasks import metrics
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging import run
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.flags import TaggingOptions
from albert_tf.tasks.tagging.results import write_error_page
from albert_tf.tasks.tagging.results import write_predictions
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.tagging.sentences import word_bounds
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

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


def test_any_columns(write):
    for letter, scheme in (("B", "iob2"), ("I", "iob1")):
        file = read(write("a.conll", _CONLL.format(letter)))
        assert (file.form, file.scheme, file.types()) == ("conll", scheme, ["ORG"])
        first, second = file.sentences
        assert (first.text, first.words) == ("EU Ltd .", ["EU", "Ltd", "."])
        assert first.entities == (("ORG", 0, 6),)
        assert (second.text, second.entities) == ("北", ())
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
        ("O\nb\n", None, [["O", "b"]]),  # a word that looks like a tag
    ):
        untagged = read(write("c.txt", text), role="test", scheme=scheme).sentences
        assert [own.words for own in untagged] == words
        assert {own.entities for own in untagged} == {None}
    (tagged,) = read(write("c.txt", "a B-X\nb O\n"), role="test").sentences
    assert tagged.entities == (("X", 0, 1),)


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
    # Tags that a file to predict has are read, too.
    row = {"tokens": ["a"], "tags": ["B-X"]}
    assert read_objects(row, role="test").sentences[0].entities == (("X", 0, 1),)
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


_MANY = {"start": 0, "end": 1}
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
        ([{**text, "spans": [_span(-1, 1)]}], "from -1 to 1 leaves the text of 3 ch"),
        ([{**text, "spans": [_span(2, 4)]}], "from 2 to 4 leaves the text of 3 ch"),
        ([{**text, "spans": [_span(2, 2)]}], "the span from 2 to 2 leaves the text"),
        ([{**text, "spans": [{**_MANY, "labels": [*"AB"]}]}], "is not an object with"),
        (
            [{**text, "spans": [{**_MANY, "labels": "A"}]}],
            "is not an object with start",
        ),
        ([{**text, "spans": [{"start": 0}]}], "is not an object with start and"),
        ([{**text, "spans": [[0, 1]]}], r"span \[0, 1\] is not an object with start"),
        ([{**text, "spans": ["a b"]}], "span 'a b' is not an object with start"),
        ([{"text": "a-b", "spans": [_span(0, 1), _span(2, 3)]}], "'b' .N. shares a w"),
        ([{**tokens, "tags": ["B-\0"]}], "a label holds a NUL byte"),
        ([{**tokens, "tags": ["B-\ud800"]}], "half of a surrogate pair"),
        ([{**tokens, "\udc9f": 1}], "line is not UTF-8"),
        ([[1]], "the line is not a JSON object"),
    ):
        is_json = isinstance(row, list) or row[:1] == b"{"
        with pytest.raises(UserError, match=message):
            read(write("a.jsonl" if is_json else "a.txt", row))
    path = write("a.txt", "a O\n")
    for columns in ({"word_column": 2}, {"tag_column": -3}):
        [place] = columns.values()
        with pytest.raises(UserError, match=f"no column {place}, but 2 column.s."):
            read(path, **columns)
    with pytest.raises(UserError, match="a.txt holds no sentence that can be used"):
        read(write("a.txt", "\n"), role="test")
    # Halves that are escaped make a whole.
    assert read(write("b.jsonl", _TAGGED % "\\ud83d\\ude00")).types() == ["\U0001f600"]


def test_a_scheme_that_is_given(write):
    path = write("a.txt", "a I-A\n\nb B-B\nc O\n\nd B-A\n")
    file = read(path, scheme="iob2", skip_bad_rows=True)
    assert (len(file), file.num_skipped, file.scheme) == (2, 1, "iob2")
    assert file.lines == ("", "b B-B", "c O", "", "d B-A")
    assert [s.source for s in file.sentences] == [(1, 2), (4,)]


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
    found = written(read_objects(tokens, tokens, role="test"), [("LOC", 0, 3)], [])
    assert list(map(json.loads, found.splitlines())) == [
        {**tokens, "tags": ["B-LOC", "I-LOC"]},
        {**tokens, "tags": ["O", "O"]},
    ]
    spans = {"text": "北京", "spans": []}
    found = written(read_objects(spans, spans), [("LOC", 0, 2)], [])
    assert list(map(json.loads, found.splitlines())) == [
        {**spans, "spans": [{**_span(0, 2, "LOC"), "score": 0.5}]},
        spans,
    ]
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
    write_error_page(tmp_path / "errors.html", "a task", file.sentences, found)
    page = (tmp_path / "errors.html").read_text()
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
    lemmas = read(path, scheme="plain", word_column=2).sentences[0].words
    assert lemmas == ["ir", "nosotros", "New York"]
    with pytest.raises(UserError, match="line 3: the tag 'VERB' .*--scheme=plain"):
        read(path)
    found = [[(*e, 1.0) for e in s.entities] for s in file.sentences]
    write_predictions(tmp_path / "out", file, found, "plain")
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[:2] == _CONLLU.splitlines()[:2]
    assert lines[2] == "1\tVamos\tir\tVERB\tv\t_\t0\troot\t_\t_\tVERB"
    path = write("b.conllu", _CONLLU.replace("\tVERB", "\t_").replace("\tSYM", "\t_"))
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


_PERSONS = ["ada", "alan", "grace", "kurt"]
_PLACES = ["paris", "oslo", "new york", "北 京"]
_OTHERS = ["the", "a", "went", "to", "in", "saw", "met", "of", "我", "在"]
# "kurt" and "york" have two pieces each.
_PIECES = ["ada", "alan", "grace", "ku", "##rt", "paris", "oslo", "new", "yo", "##rk"]
_PIECES += ["北", "京", *_OTHERS, ".", ","]


@pytest.fixture(scope="session")
def words(vocabulary):
    """A WordPiece tokenizer of the corpus."""
    return WordPieceTokenizer(vocabulary(_PIECES).encode())


def make_sentences(count, seed):
    """Makes sentences, lists of (word, tag in IOB2)."""
    chance = random.Random(seed)
    return [
        [pair for _ in range(chance.randint(2, 8)) for pair in _phrase(chance)]
        for _ in range(count)
    ]


def _phrase(chance):
    kind = chance.choice(["PER", "LOC", "O", "O", "O"])
    if kind == "O":
        return [(chance.choice(_OTHERS), "O")]
    names = chance.choice(_PERSONS if kind == "PER" else _PLACES).split()
    tags = [f"B-{kind}"] + [f"I-{kind}"] * (len(names) - 1)
    return list(zip(names, tags, strict=True))


@pytest.fixture
def write_conll(tmp_path):
    """Writes sentences to a file of the folder `data`, with two columns between."""
    (tmp_path / "data").mkdir()

    def write(name, sentences, with_tags=True):
        lines = ["-DOCSTART- -X- -X- O", ""]
        for sentence in sentences:
            lines += [f"{w} X X {t}" if with_tags else w for w, t in sentence] + [""]
        (tmp_path / "data" / name).write_text("\n".join(lines) + "\n", "utf-8")

    return write


@pytest.fixture
def data_dir(write_conll, tmp_path):
    """The folder of three files."""
    for seed, (role, count) in enumerate((("train", 96), ("dev", 24), ("test", 12))):
        write_conll(f"{role}.conll", make_sentences(count, seed))
    return tmp_path / "data"


@pytest.fixture
def flags(data_dir, tiny_model, command):
    """Runs the command with flags; the defaults are a complete tiny task."""
    return command(
        TaggingOptions,
        data_dir=data_dir,
        **tiny_model(_PIECES),
        max_seq_length=12,
        doc_stride=5,
        train_batch_size=16,
        train_step=60,
        save_checkpoints_steps=30,
        learning_rate=1e-2,
        dropout_prob=0,
    )


def test_scores_are_those_of_seqeval():
    """Of tags at random, most of which no scheme allows."""
    random = np.random.default_rng(0)
    for scheme in schemes.ENTITY_SCHEMES:
        tags = schemes.all_tags(["A", "B-C"], scheme)
        gold, found = (
            [list(random.choice(tags, size)) for size in range(1, 60)] for _ in "ab"
        )
        # Of random tags hardly one entity would be right.
        for one, other in zip(gold[::2], found[::2], strict=True):
            other[: len(one) // 2] = one[: len(one) // 2]
        of_both = (map(schemes.entities_of, own) for own in (gold, found))
        scores = metrics.entity_scores(*of_both, types=["C"])
        assert scores["C_f1"] == 0
        settings = {"output_dict": True, "zero_division": 0}
        report = seqeval.metrics.classification_report(gold, found, **settings)
        for name, prefix in (("micro avg", ""), ("A", "A_"), ("B-C", "B-C_")):
            *expected, _ = report[name].values()
            ours = [scores[prefix + own] for own in ("precision", "recall", "f1")]
            assert ours == pytest.approx(expected)


@pytest.mark.parametrize("scheme", schemes.ENTITY_SCHEMES)
def test_tags_mean_the_entities_that_they_are_of(scheme):
    entities = [("A", 0, 2), ("A", 2, 3), ("B", 3, 4), ("A", 5, 8), ("A", 8, 9)]
    tags = schemes.tags_of(entities, 10, scheme)
    assert schemes.entities_of(tags) == entities
    schemes.check_tags(tags, scheme)
    assert schemes.find_scheme([("here", tags)]) == scheme
    assert {*tags} <= {*schemes.all_tags(["A", "B"], scheme)}
    expected = {
        "iob1": "I-A I-A B-A I-B O I-A I-A I-A B-A O",
        "iob2": "B-A I-A B-A B-B O B-A I-A I-A B-A O",
        "bioes": "B-A E-A S-A S-B O B-A I-A E-A S-A O",
    }
    assert " ".join(tags) == expected[scheme]
    whole = {"iob1": "I-A I-A", "iob2": "B-A I-A", "bioes": "B-A E-A"}
    assert " ".join(schemes.tags_of([("A", 0, 2)], 2, scheme)) == whole[scheme]
    # The first that fits, or none.
    assert schemes.find_scheme([("here", ["B-A", "O"])]) == "iob2"
    with pytest.raises(ValueError, match=r"^bioes does not allow O after B-A \(x\)$"):
        schemes.find_scheme([("x", ["S-A", "B-A"])])


@pytest.mark.parametrize("scheme", schemes.ENTITY_SCHEMES)
def test_the_legal_decoder_finds_the_best_legal_sequence(scheme):
    labels = schemes.all_tags("AB", scheme)
    allowed = schemes.steps(labels, scheme, "legal")
    random, changed = np.random.default_rng(1), 0

    def is_legal(path):
        steps = itertools.pairwise(["O", *(labels[tag] for tag in path), "O"])
        return all(schemes.is_legal(*step, scheme) for step in steps)

    for count in (1, 2, 3, 3, 4, 4):
        logits = random.normal(size=(count, len(labels))).astype(np.float32)
        paths = [*filter(is_legal, itertools.product(range(len(labels)), repeat=count))]
        best = paths[np.argmax([sum(logits[range(count), path]) for path in paths])]
        legal = schemes.best_tags(logits, labels, allowed)
        assert legal.tolist() == list(best)
        changed += best != tuple(schemes.best_tags(logits, labels, None))
        # What is legal already stays as it is.
        once = np.where(np.arange(len(labels)) == legal[:, None], 9, logits)
        assert schemes.best_tags(once, labels, allowed).tolist() == list(best)
    assert changed
    assert schemes.best_tags(logits[:0], labels, allowed).tolist() == []


def test_plain_tags_are_each_of_their_word():
    tags = ["NN", "NN", "B-X", "O", "I-Y"]
    entities = [(tag, place, place + 1) for place, tag in enumerate(tags)]
    assert schemes.entities_of(tags, "plain") == entities
    assert schemes.tags_of(entities, 5, "plain") == tags
    assert schemes.tags_of(entities[1:2], 3, "plain") == [None, "NN", None]
    assert schemes.all_tags(["A", "O"], "plain") == ("A", "O")
    with pytest.raises(ValueError, match="a tag is empty"):
        schemes.cleaned_tag(" \u200b", "plain")
    schemes.check_tags(tags, "plain")
    logits = np.array([[1.0, 2.0], [3.0, 2.0]], np.float32)
    for decoder in schemes.DECODERS:
        assert schemes.steps(["A", "B"], "plain", decoder) is None
    assert schemes.best_tags(logits, ["A", "B"], None).tolist() == [1, 0]
    assert schemes.scores_without_token(["A", "O"], "plain").tolist() == [0, 0]
    # accuracy_score and f1_score(average="macro") of scikit-learn 1.9.1; of the word
    # whose tag nobody knows there is nothing to score.
    expected = ["A", "B", "B", "C", "A", "new", None, "A"]
    found = ["A", "B", "A", "A", "A", "B", "D", "B"]
    golden = {"accuracy": 3 / 7, "macro_f1": 0.24285714285714285}
    assert metrics.tag_scores(expected, found) == pytest.approx(golden, abs=1e-12)
    assert metrics.tag_scores([None], ["A"]) == {"accuracy": 0.0, "macro_f1": 0.0}


_LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def sentence(text, tags=None):
    return sentence_of_words("here", text.split(), tags and tags.split(), None)


def pieces(tokens, tokenizer):
    return [
        " ".join(tokenizer.pieces[i] for i in tokens.ids[start : start + length])
        for start, length in zip(tokens.starts, tokens.lengths, strict=True)
    ]


def test_windows_overlap_and_lose_nothing(words):
    texts = ("", "kurt met ada in new york .", "\u200b", "a")
    tokens = tokenize_sentences(list(map(sentence, texts)), words, 7, 3)
    expected = ["", "ku ##rt met ada in ", "ada in new yo ##rk ", "yo ##rk . "]
    expected += ["", "a "]
    assert pieces(tokens, words) == [f"[CLS] {row}[SEP]" for row in expected]
    np.testing.assert_array_equal(tokens.first_lengths, tokens.lengths)
    # The first piece of each word: kurt 0, met 1, ada 2, in 3, new 4, york 5, "." 6.
    first = [], [0, -1, 1, 2, 3], [2, 3, 4, 5, -1], [5, -1, 6], [], [8]
    assert tokens.words.tolist() == [w for row in first for w in (-1, *row, -1)]
    # Each word is seen best once, if it has a token.
    seen = tokens.words[tokens.is_max_context]
    assert sorted(seen[seen >= 0]) == [0, 1, 2, 3, 4, 5, 6, 8]
    outputs = 10 * np.arange(-1.0, 5)[:, None, None] + np.arange(7)[:, None]
    found, has_token = tokens.of_words(outputs, 9)  # of window and place
    assert found[:, 0].tolist() == [1, 3, 4, 12, 13, 14, 23, 0, 41]
    assert has_token.tolist() == [True] * 7 + [False, True]


def test_each_word_is_tokenized_by_itself(english):
    for text, words in {
        "Ada met Alan.": "Ada|met|Alan|.",
        "(U.S., it's 1,000!)": "(|U.S|.|,|it's|1,000|!|)",
        "...": ".|.|.",
        "我在New York，北京。": "我|在|New|York|，|北|京|。",
        " \u3000 ": "",
    }.items():
        assert "|".join(text[a:b] for a, b in word_bounds(text)) == words
    one, other = sentence("U.N. officials , in Oslo"), sentence("北 京 Oslo")
    tokens = tokenize_sentences([one, other], english, 32, 16)
    rows = np.split(tokens.ids, tokens.starts[1:])
    for text, row in zip((one, other), rows, strict=True):
        ids = [i for word in text.words for i in english.encode(word)]
        assert row.tolist() == [english.cls_id, *ids, english.sep_id]


def test_labels_are_those_of_first_pieces(words, tmp_path):
    task = create_task("tagging", "custom", labels=_LABELS, doc_stride=3)
    texts = ("kurt met ada in new york", "B-PER O B-PER O B-LOC I-LOC"), ("a", "O")
    examples = TagFile("file", tuple(sentence(*text) for text in texts), "conll")
    first, again = (cached_tokens(task, examples, words, 7, tmp_path) for _ in "ab")
    np.testing.assert_array_equal(first.labels, again.labels)
    rows = np.split(first.labels, first.starts[1:])
    expected = [[-1, 3, -1, 0, 3, 0, -1], [-1, 3, 0, 1, 2, -1, -1], [-1, 0, -1]]
    assert [row.tolist() for row in rows] == expected
    [batch] = training_dataset(first, 3, 8, seed=1, repeat=False, buckets=(8,))
    assert batch["labels"].shape == batch["input_ids"].shape == (3, 8)
    assert sorted(batch["labels"].numpy().sum(axis=1).tolist()) == [-7, 2, 2]
    assert not batch["segment_ids"].numpy().any()
    logits = np.zeros((3, 8, 5), np.float32)
    total, sums = task.objective().terms[0].sums(logits, batch)
    assert float(total) == pytest.approx(9 * np.log(5), rel=1e-6)
    assert [float(value) for value in sums["accuracy"]] == [4, 9]


def test_what_training_info_may_not_say():
    for fields, message in (
        ({"labels": "O"}, "the tags are 'O', expected a list of texts"),
        ({"labels": ["B-A", "I-A"]}, "expected O and others, no repeats"),
        ({"scheme": "io"}, "'io', expected one of iob2, iob1, bioes"),
        ({"decoder": 1}, "decoder is 1, expected one of greedy, "),
        ({"doc_stride": 0}, "doc_stride is 0, expected a positive"),
        ({"dropout_prob": "0.1"}, "dropout_prob is '0.1', expected a number"),
    ):
        with pytest.raises(ValueError, match=message):
            create_task("tagging", "custom", **{"labels": ["O"], **fields})
    for value in (True, 1.0):
        with pytest.raises(ValueError, match=f"qa_length is {value}, expected an int"):
            create_task("multiple_choice", "custom", max_qa_length=value)


def columns(path):
    """The last two columns of a file by sentence: expected and predicted tags."""
    rows = [line.split()[-2:] for line in path.read_text().splitlines()[2:]]
    groups = itertools.groupby(rows, key=bool)
    return [tuple(zip(*group, strict=True)) for is_text, group in groups if is_text]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_conll, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["f1"] >= 0.95 and scores["eval_accuracy"] >= 0.95
    gold, found = zip(*columns(out / "predictions.conll"), strict=True)
    assert len(gold) == 12
    of_both = (map(schemes.entities_of, own) for own in (gold, found))
    for name, value in metrics.entity_scores(*of_both).items():
        assert scores[f"test_{name}"] == pytest.approx(value), name
    assert (out / "test_errors.html").exists()
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == list(_LABELS)
    # Windows are those of training, and a file without tags is not scored.
    write_conll("test.conll", make_sentences(12, 2), with_tags=False)
    other, model = tmp_path / "other", {**APPLIED, "init_checkpoint": out / "model"}
    flags(do_predict=True, output_dir=other, doc_stride=1, max_seq_length=9, **model)
    lines = (other / "predictions.conll").read_text().splitlines()[2:]
    predicted = [line.split()[1] for line in lines if line]
    assert predicted == [tag for sentence in found for tag in sentence]
    assert not (other / "eval_results.txt").exists()


def options(data_dir, **changes):
    values = {"data_dir": data_dir, "output_dir": "out", "do_train": True}
    return TaggingOptions(**{**values, **changes}).completed()


def read_dir(data_dir, tuned=None, **changes):
    """The task and the files of a command with flags."""
    return run._read_folder(options(data_dir, **changes), tuned)


def test_flags_are_settings_of_the_task(data_dir, flags, saved_model):
    task, examples = read_dir(data_dir, doc_stride=5, dropout_prob=0.25, do_eval=True)
    assert (task.labels, task.scheme, task.decoder) == (_LABELS, "iob2", "greedy")
    assert (task.doc_stride, task.metrics) == (5, ("f1",))
    assert task.model_arguments()["classifier_dropout_prob"] == 0.25
    assert [*map(len, examples.values())] == [96, 24] and "dev" in examples
    assert read_dir(data_dir, decoder="legal")[0].decoder == "legal"
    changes = {**APPLIED, "init_checkpoint": saved_model("classification")}
    with pytest.raises(UserError, match="was fine-tuned for single_label; apply it"):
        flags(do_eval=True, **changes)


def test_plain_tags_need_a_flag_in_training_alone(data_dir, write_conll, words):
    sentence = [("ada", "NAME"), ("met", "VERB"), (".", "MARK")]
    for role in ("train", "dev"):
        write_conll(f"{role}.conll", [sentence])
    task, _ = read_dir(data_dir, scheme="plain")
    assert task.labels == ("MARK", "NAME", "VERB")
    assert (task.scheme, task.metrics) == ("plain", ("accuracy", "macro_f1"))
    applied, examples = read_dir(data_dir, task, do_train=False, do_eval=True)
    assert applied is task and examples["dev"].types() == ["MARK", "NAME", "VERB"]
    # Each tag has a score of its own; the model takes "met" for a name.
    tokens = task.tokenize(examples["dev"], words, 12)
    prepared, logits = Prepared(examples["dev"], tokens), np.zeros((1, 5, 3), "f")
    logits[0, [1, 2, 3], [1, 1, 0]] = np.log(2)
    expected = {"accuracy": 2 / 3, "macro_f1": (2 / 3 + 0 + 1) / 3}
    expected["loss"] = np.log([4 / 2, 4, 4 / 2]).mean()
    found = task.score(prepared, task.interpret(prepared, logits))
    assert found == pytest.approx(expected)
    opened = types.SimpleNamespace(path="model")
    with pytest.raises(UserError, match="--scheme=iob2 does not fit model.* are plain"):
        run._as_asked(options(data_dir, scheme="iob2"), opened, task)


def test_the_model_decides_how_it_decodes_unless_a_flag_does(data_dir):
    task, _ = read_dir(data_dir, decoder="legal", doc_stride=5)
    opened, found = types.SimpleNamespace(path="model"), {}
    for decoder in (None, "greedy", "legal"):
        flags = options(data_dir, do_train=False, decoder=decoder, doc_stride=7)
        asked = run._as_asked(flags, opened, task)
        found[decoder] = asked.decoder
        assert asked.doc_stride == 7  # to be told that the model's is another
    assert found == {None: "legal", "greedy": "greedy", "legal": "legal"}
    flags = options(data_dir, do_train=False, decoder="greedy", export_dir="served")
    with pytest.raises(UserError, match="--decoder=greedy is not that of .*with legal"):
        run._as_asked(flags, opened, task)


def test_the_decoder_decides_whether_tags_are_legal(words):
    sentence = sentence_of_words("1", ["new", "ada"], ["B-LOC", "I-LOC"], None)
    examples = TagFile("file", (sentence,), "conll")
    logits = np.zeros((1, 4, 5), np.float32)
    logits[0, 1, 1] = logits[0, 2, 4] = 2  # B-LOC and I-PER, which may not follow
    logits[0, 2, 2] = 1  # I-LOC
    found = {}
    for decoder in ("greedy", "legal"):
        task = create_task("tagging", "custom", labels=_LABELS, decoder=decoder)
        prepared = Prepared(examples, task.tokenize(examples, words, 12))
        interpreted = task.interpret(prepared, logits)
        found[decoder] = task.score(prepared, interpreted)
        [(*entity, score)] = interpreted[-1][0][:1]
        assert entity == ["LOC", 0, 3 if decoder == "greedy" else 7]
    # The score is the mean probability of the entity's tags.
    shares = [np.exp(2) / (4 + np.exp(2)), np.e / (3 + np.e + np.exp(2))]
    assert score == pytest.approx(np.mean(shares))
    assert (found["greedy"]["recall"], found["legal"]["recall"]) == (0, 1)
    assert found["greedy"]["loss"] == found["legal"]["loss"]


def test_what_no_model_can_tag_is_told_and_missed(data_dir, words, caplog):
    for role, label in (("train", "LOC"), ("dev", "GPE")):
        (data_dir / f"{role}.conll").unlink()
        objects = [
            {"text": "ada-like met", "spans": [{"start": 0, "end": 3, "label": "PER"}]},
            {"text": "in Oslo.", "spans": [{"start": 3, "end": 7, "label": label}]},
        ]
        (data_dir / f"{role}.json").write_text(json.dumps(objects))
    with caplog.at_level(logging.WARNING):
        task, examples = read_dir(data_dir)
    assert "that begin or end within a word: 1; the model learns" in caplog.text
    assert "dev.json: the model has no tag for GPE; it misses" in caplog.text
    tokens = task.tokenize(examples["dev"], words, 12)
    prepared = Prepared(examples["dev"], tokens)
    outputs = np.zeros((2, int(tokens.lengths.max()), 5), np.float32)
    scores = task.score(prepared, task.interpret(prepared, outputs))
    # "in", "Oslo", "." and "met" are O, "ada-like" is B-PER; of GPE there is no loss.
    assert scores["loss"] == pytest.approx(np.log(5))
    assert scores["GPE_recall"] == scores["PER_recall"] == 0
