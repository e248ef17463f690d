"""Files in SQuAD's layout, read strictly; their windows in Python and in a graph."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import row_layout
from albert_tf.errors import UserError
from albert_tf.tasks.question_answering import questions
from albert_tf.tasks.question_answering import windows as windows_module
from albert_tf.tasks.question_answering.in_graph import WindowFeatures
from albert_tf.tasks.question_answering.serving import Answering
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tasks.windows import Layout
from tools.verify.squad_windows import features_of

QA = '{"id": "1", "question": "q", "answers": []}'


def paragraphs(text):
    return '{"data": [{"title": "T", "paragraphs": [' + text + "]}]}"


def asked(rows):
    return paragraphs('{"context": "c", "qas": [' + rows + "]}")


def test_what_is_no_squad_and_no_answer(tmp_path):
    path = tmp_path / "some.json"
    start = '[{"text": "c", "answer_start": true}]'
    not_int = "'answer_start' of an answer to the question '1' is not of type int"
    for text, message in {
        '{"data": "é"}': "is not UTF-8",
        "[1, 2]": "row 1: expected a question, got 1; correct the row",
        r'["\u0085"]': r"expected a question, got '\\x85'; correct",
        "1": "must hold one JSON object",
        '{"data": []} x': "is not valid JSON: Extra data",
        '{"data": [1], "data": []}': "it sets 'data' twice",
        '{"data": [1]}': "an article is not an object",
        '{"data": [{"title": "T"}]}': "the article 'T' has no 'paragraphs'",
        paragraphs('{"context": 3}'): "'context' of .* is not of type str",
        asked(QA + ", " + QA): "two questions have the id '1'",
        asked('{"id": "7"}'): "the question '7' has no 'question'",
        asked(QA.replace("[]", start)): not_int,
        paragraphs(r'{"context": "\ud800"}'): "'context' .* holds half of a surr",
    }.items():
        path.write_text(text, "latin-1")
        with pytest.raises(UserError, match=message) as error:
            list(questions.read_paragraphs(path))
        assert str(path) in str(error.value)
    # Answers of impossible questions are none.
    answers = '"is_impossible": true, "answers": [{"text": "c", "answer_start": 0}]'
    path.write_text(asked(QA.replace('"answers": []', answers)))
    [paragraph] = questions.read_paragraphs(path)
    assert paragraph.title == "T"
    assert paragraph.questions == (questions.Question("1", "q", is_impossible=True),)


def test_survey(squad, caplog):
    path = squad(
        ("a b c", [("1", "who?", [("b", 2), ("c", 4)]), ("2", " ", None)]),
        (" \n", [("3", "how?", None)]),
    )
    found = questions.read_question_file(path)
    assert (len(found.paragraphs), len(found)) == (2, 3)
    assert (found.impossible, found.version) == (2, 2)
    assert questions.notice_lines(found.notices()) == [
        "the question has no visible text: 1 question (2)",
        "the paragraph has no visible text: 1 question (3)",
    ]
    questions.question_file(found, 2, "train")
    with pytest.raises(UserError, match="2 of its 3 questions have no answer; pass"):
        questions.question_file(found, 1)
    with pytest.raises(UserError, match="holds no question"):
        questions.read_question_file(squad(("a", [])))
    # What is odd is said of files without answers, too.
    caplog.clear()
    path = squad((" ", [("1", "who?", [])]), ("a", [("2", "who?", [])]))
    found = questions.read_question_file(path)
    questions.question_file(found, 2, "test")
    [told] = caplog.messages
    assert told == f"{path}: the paragraph has no visible text: 1 question (1)"
    # To predict, a question needs no answer.
    assert len(questions.question_file(found, 1, "test", skip_bad_rows=True)) == 2


def test_answers_that_cannot_be_learned(squad):
    places = r"in 7 questions of 8 \(0, 1, 2, 3, 4 and 2 more\); correct answer_start"
    for answers, message in (
        ([("b", 1)], rf"not where its answer_start says {places}, or leave them out"),
        ([("a", -3)], "not where its answer_start says"),
        ([], "there is no answer, and is_impossible is not set in 7 questions"),
        ([(" ", 1)], "an answer has no visible text in 7 questions"),
    ):
        bad = [(str(i), "who?", answers) for i in range(7)]
        path = squad(("a b", [*bad, ("good", "who?", [("b", 2)])]))
        with pytest.raises(UserError, match=message):
            questions.question_file(questions.read_question_file(path), 2, "train")


def made(path, tokenizer, sizes=None, is_training=False, notices=None):
    """The windows of a small file, all at once."""
    notices = {} if notices is None else notices
    given = (
        questions.read_paragraphs(path),
        tokenizer,
        sizes or WindowSizes(),
        notices,
    )
    [found] = windows_of(*given, is_training)
    return found


def pieces(tokenizer, windows, width):
    rows = features_of(windows, width)["input_ids"]
    return ["".join(tokenizer.pieces[i][-1] for i in row if i) for row in rows]


def test_windows_by_hand(letters, squad):
    # 9 - 3 - 2 = 4 tokens of text a window, a step of 3.
    path = squad(
        ("a b c d e f g h", [("1", "x y", [("f g", 10)]), ("2", "z", [("h", 14)])]),
        ("i", [("3", "x y", [("i", 0)])]),
    )
    found = made(path, letters, WindowSizes(9, 3, 2), is_training=True)
    expected = ["xy]abcd", "xy]defg", "xy]gh", "z]abcde", "z]defgh", "xy]i"]
    assert pieces(letters, found, 9) == [f"]{row}]" for row in expected]
    assert found.question_index.tolist() == [0, 0, 0, 1, 1, 2]
    assert found.window_index.tolist() == [0, 1, 2, 0, 1, 0]
    features = features_of(found, 9)
    assert {array.dtype for array in features.values()} == {np.dtype("int32")}
    assert features["segment_ids"][2].tolist() == [0, 0, 0, 0, 1, 1, 1, 0, 0]
    assert features["input_mask"][2].tolist() == [1, 1, 1, 1, 1, 1, 1, 0, 0]
    assert features["p_mask"][2].tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1]
    # "f g" is whole in the second window alone, "h" in the last of its question.
    none = [0, 0, 1]
    expected = [none, [6, 7, 0], none, none, [7, 7, 0], [4, 4, 0]]
    assert found.answers.tolist() == expected
    spans = found.padded(found.spans, 9)
    assert spans[1, 4:8].tolist() == [[6, 7], [8, 9], [10, 11], [12, 13]]
    assert not spans[1, :4].any() and not spans[1, 8:].any()
    with pytest.raises(UserError, match="^doc_stride=0: expected at least 1"):
        WindowSizes(doc_stride=0)
    WindowSizes(68, 1, 64)  # the shortest window for a question of this length
    WindowSizes(4, 1, 0)
    with pytest.raises(UserError, match="^max_query_length=-1: expected at least 0"):
        WindowSizes(max_query_length=-1)
    with pytest.raises(UserError, match="=67 leaves no room .* and 3 special tokens"):
        WindowSizes(67, 1, 64)


# A window that is more than a hundred tokens longer wins with less text on a side.
@pytest.mark.parametrize(
    ("width", "stride"), [(12, 1), (12, 2), (12, 3), (12, 5), (12, 20), (300, 128)]
)
def test_best_context(width, stride):
    rng = np.random.default_rng(stride)
    taken, paragraph = rng.integers(0, 5, 30), rng.integers(0, 3 * width + 4, 30)
    taken += windows_module.SPECIAL
    layout = Layout(row_layout.CLS_FIRST, taken, paragraph, width, stride)
    rows = np.repeat(np.arange(len(layout.tokens)), layout.tokens)
    begins = np.cumsum(layout.tokens) - layout.tokens
    tokens = np.arange(len(rows)) - begins[rows] + layout.first[rows]
    found = layout.max_context()[layout.in_texts[0]]
    for index, count in enumerate(paragraph):
        mine = np.flatnonzero(layout.text == index)
        token, start = np.arange(count), layout.first[mine, None]
        length = layout.tokens[mine, None]
        sides = np.minimum(token - start, start + length - 1 - token)
        is_there = (start <= token) & (token < start + length)
        scores = np.where(is_there, sides + 0.01 * length, -1)
        chosen = found & (layout.text[rows] == index)
        # Every token of the paragraph in one window, and in the best one.
        order = np.argsort(tokens[chosen])
        assert tokens[chosen][order].tolist() == token.tolist()
        best = layout.index[rows[chosen][order]]
        np.testing.assert_array_equal(best, scores.argmax(axis=0) if count else [])


def test_chunks_are_the_whole(letters, squad, monkeypatch):
    paragraphs = []
    for i in range(6):
        asked = [(f"{i}{j}", "x y"[: 2 * j + 1], [("a", 0)]) for j in range(2)]
        paragraphs.append(("a b c d e f"[: 2 * i + 1], asked))
    path, sizes = squad(*paragraphs), WindowSizes(8, 2, 2)
    whole = made(path, letters, sizes, is_training=True)
    monkeypatch.setattr(windows_module, "_PARAGRAPHS", 2)
    paragraphs = [*questions.read_paragraphs(path)]
    # A chunk in which nothing can be learned is none.
    asked = (questions.Question("nothing", "x"),)
    paragraphs[2:2] = [questions.Paragraph("a", asked)] * 2
    parts = list(windows_of(paragraphs, letters, sizes, {}, True))
    assert len(parts) == 3
    joined = Windows.joined(parts)
    for field in dataclasses.fields(Windows):
        found, expected = getattr(joined, field.name), getattr(whole, field.name)
        np.testing.assert_array_equal(found, expected, field.name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype


def test_nothing_is_dropped_in_silence(letters, squad):
    asked = [
        ("long", "x y z", [("b", 2)]),
        ("wide", "x y", [("a b c d e", 0)]),
        ("misplaced", "x", [("b", 3)]),
        ("no question", "", [("c", 4)]),
    ]
    path = squad(("", [("empty", "x", None)]), ("a b c d e f g", asked))
    notices = {}
    found = made(path, letters, WindowSizes(9, 3, 2), True, notices)
    kept = [question.id for question in found.questions]
    assert kept == ["empty", "long", "wide", "no question"]
    assert pieces(letters, found, 9)[0] == "]x]]"
    assert found.answers[0].tolist() == [0, 0, 1]
    assert notices[windows_module.LONG_QUESTION] == ["long"]
    assert notices[windows_module.LEFT_OUT] == ["misplaced"]
    assert notices[windows_module.NO_WINDOW_HAS_IT] == ["wide"]
    notices = {}
    found = made(path, letters, WindowSizes(9, 3, 2), notices=notices)
    assert len(found.questions) == 5
    assert windows_module.LEFT_OUT not in notices


# "105" and "517" are words of their own; a "5" that is alone is far away.
_SEATS = "105 seats 5s 517 rows and 5 a"


@pytest.mark.parametrize(
    ("context", "answer", "span", "moved"),
    [
        ("dishi b i is", ("i ", 4), [8, 9], ["1"]),  # white space is no part of it
        ("dishi b i", ("i", 4), [8, 9], ["1"]),  # a word may end where the text does
        ("i b dishi", ("i", 8), [0, 1], ["1"]),  # or begin there
        # The nearer of the two other places; a suffix is a token and stays there.
        ("i b as dish i is", ("i", 8), [12, 13], ["1"]),
        ("i b as dish i is", ("s", 5), [5, 6], []),
        (_SEATS, ("5", 2), [26, 27], ["1"]),
        (_SEATS, ("1", 14), [13, 16], []),  # no "1" is alone: it stays in 517
    ],
)
def test_where_an_answer_is_learned(context, answer, span, moved, letters, squad):
    path, notices = squad((context, [("1", "x", [answer])])), {}
    found = made(path, letters, is_training=True, notices=notices)
    assert found.spans[found.starts[0] + found.answers[0, 0]].tolist() == span
    assert notices.get(windows_module.MOVED, []) == moved
    # A token of nothing is in no answer.
    spans = np.array([[0, 1], [2, 2], [4, 5]])
    answer = questions.Answer("\u200b" * 3, 1)
    found = windows_module.first_and_last("a\u200b\u200b\u200bb", spans, answer)
    assert found == windows_module.NONE
    # Nor is a token that begins before the other place.
    spans = np.array([[0, 6], [6, 8], [7, 11], [12, 16]])
    answer = questions.Answer("gold", 0)
    found = windows_module.first_and_last("golden gold gold", spans, answer)
    assert found == (3, 3)


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("name", ["v1", "v2", "edge"])
def test_official_windows(name, part, shared, english):
    folder = shared("fixtures/official_squad")
    facts = json.loads((folder / f"features_{name}.json").read_text())
    expected = dict(np.load(folder / f"features_{name}.npz"))
    width = facts["max_seq_length"]
    sizes = WindowSizes(width, facts["doc_stride"], facts["max_query_length"])
    asked = [facts["qids"][question] for question in expected["example_index"]]
    keys = [*zip(asked, expected["doc_span_index"].tolist(), strict=True)]
    path = folder / f"{name}_{part}.json"
    found = made(path, english, sizes, is_training=part == "train")
    asked = [found.questions[question].id for question in found.question_index]
    own_keys = zip(asked, found.window_index.tolist(), strict=True)
    rows = {key: row for row, key in enumerate(own_keys)}
    # What the official code drops has windows, too.
    assert {key[0] for key in rows} - {key[0] for key in keys} == set(facts["dropped"])
    places = [rows[key] for key in keys]
    for feature, array in features_of(found, width).items():
        np.testing.assert_array_equal(array[places], expected[feature], feature)
    best = found.padded(found.is_max_context, width)[places]
    np.testing.assert_array_equal(best, expected["token_is_max_context"] == 1)
    if part == "train":
        names = ("start_position", "end_position", "is_impossible")
        theirs = np.column_stack([expected[n] for n in names])
        differ = (found.answers[places] != theirs).any(axis=1)
        # The official alignment lets "tab" begin with the "a" before its tab.
        tab = [("edge-011", 0)] if name == "edge" else []
        assert [keys[i] for i in np.flatnonzero(differ)] == tab


PAIRS = [
    ("who is it", "a b\u0301 c  d efg\n the end of it. " * 3),
    ("", "x"),
    ("a b c d e f g", " \t "),
    ("师父是谁", "悟空的师父是唐僧。悟空 is x"),
    ("q", ""),
    ("who", " a a a a b a a  b "),
]


@pytest.mark.parametrize("stride", [3, 40])
@pytest.mark.parametrize("vocabulary_of", ["letters", "xlnet_tokenizer"])
def test_windows_in_a_graph(stride, vocabulary_of, request):
    tokenizer = request.getfixturevalue(vocabulary_of)
    sizes = WindowSizes(12, stride, 4)
    paragraphs = [
        questions.Paragraph(context, (questions.Question(str(i), question),))
        for i, (question, context) in enumerate(PAIRS)
    ]
    windows = Windows.joined(list(windows_of(paragraphs, tokenizer, sizes, {})))
    features = WindowFeatures(tokenizer, sizes, 14)
    strings = map(tf.constant, zip(*PAIRS, strict=True))
    found, layout, starts, ends = features.windows(*strings)
    expected = features_of(windows, 14)
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    np.testing.assert_array_equal(layout.text, windows.question_index)
    best = windows.padded(windows.is_max_context, 14)
    np.testing.assert_array_equal(layout.max_context(), best)
    spans = windows.padded(windows.spans, 14)
    np.testing.assert_array_equal(tf.stack([starts, ends], -1), spans)
    is_cls = np.arange(14) == np.array(layout.cls_positions)[:, None]
    assert (expected["input_ids"][is_cls] == tokenizer.cls_id).all()
    np.testing.assert_array_equal(layout.is_text, (expected["p_mask"] == 0) & ~is_cls)


def test_no_answer_score_of_version_1(letters):
    def compute(features):
        shape = tf.shape(features["input_ids"])
        logits = tf.tile([[1.0, 0, 0, 2.5, 4.0, 0, 0]], [shape[0], 1])
        return {"start_logits": logits, "end_logits": logits[:, : shape[1]]}

    module = Answering(
        WindowFeatures(letters, WindowSizes(7, 9, 1), 7), compute, 20, 30, 3
    )
    found = module(tf.constant(["x"]), tf.constant(["a b c"]))
    assert found["answers"][0, 0] == b"b"
    # [CLS] begins and ends with 1, "b" with 4.
    assert found["no_answer_score"].numpy().tolist() == [2.0 - 8.0]


def test_cached_rows_never_meet_other_settings_or_layouts(letters, tmp_path):
    asked = (questions.Question("1", "who is it", is_impossible=True),)
    paragraph = questions.Paragraph("a b c d e f g h i j k", asked)
    examples = questions.QuestionFile("questions", (paragraph,))
    fields = {"doc_stride": 2, "max_query_length": 4}
    after = letters.laid_out(row_layout.CLS_LAST)
    settings = [{}, {"doc_stride": 3}, {"max_query_length": 2}]
    for own, tokenizer in [*((own, letters) for own in settings), ({}, after)] * 2:
        task = create_task("squad_v1", "squad", **{**fields, **own})
        made = task.tokenize(examples, tokenizer, 12)
        found = cached_tokens(task, examples, tokenizer, 12, tmp_path)
        np.testing.assert_array_equal(found.ids, made.ids)
        np.testing.assert_array_equal(found.starts, made.starts)
        # Windows are padded after their tokens in every layout.
        assert found.layout == tokenizer.layout.padded_after
    assert len(list(tmp_path.iterdir())) == 4
    assert len(made.spans) == len(made.is_max_context) == len(made.ids)
    assert task.targets(examples, made) is None
    # Of training windows what only answers need is not kept.
    learned = dataclasses.replace(examples, role="train")
    made = task.tokenize(learned, letters, 12)
    assert len(made.spans) == len(made.is_max_context) == 0
    assert task.targets(learned, made) is made.answers
