"""Windows: ids, segments, masks, spans, the best context, and labels."""

import dataclasses
import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tasks.question_answering import windows as windows_module
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import SPECIAL
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.windows import Layout
from tools.verify.squad_windows import features_of


def made(path, tokenizer, sizes=None, is_training=False, notices=None):
    """The windows of a small file, all at once."""
    notices = {} if notices is None else notices
    [found] = windows_of(
        read_paragraphs(path), tokenizer, sizes or WindowSizes(), notices, is_training
    )
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
    assert pieces(letters, found, 9) == [
        "]xy]abcd]",
        "]xy]defg]",
        "]xy]gh]",
        "]z]abcde]",
        "]z]defgh]",
        "]xy]i]",
    ]
    assert found.question_index.tolist() == [0, 0, 0, 1, 1, 2]
    assert found.window_index.tolist() == [0, 1, 2, 0, 1, 0]
    features = features_of(found, 9)
    assert {array.dtype for array in features.values()} == {np.dtype("int32")}
    assert features["segment_ids"][2].tolist() == [0, 0, 0, 0, 1, 1, 1, 0, 0]
    assert features["input_mask"][2].tolist() == [1, 1, 1, 1, 1, 1, 1, 0, 0]
    assert features["p_mask"][2].tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1]
    # "f g" is whole in the second window alone, "h" in the last of its question.
    assert found.answers.tolist() == [
        [0, 0, 1],
        [6, 7, 0],
        [0, 0, 1],
        [0, 0, 1],
        [7, 7, 0],
        [4, 4, 0],
    ]
    spans = found.padded(found.spans, 9)
    assert spans[1, 4:8].tolist() == [[6, 7], [8, 9], [10, 11], [12, 13]]
    assert not spans[1, :4].any() and not spans[1, 8:].any()


def brute_force_max_context(first, tokens, paragraph_tokens):
    """For each token of a paragraph, the window that sees it best."""
    best = []
    for token in range(paragraph_tokens):
        scores = [
            min(token - start, start + length - 1 - token) + 0.01 * length
            if start <= token < start + length
            else -1
            for start, length in zip(first, tokens, strict=True)
        ]
        best.append(scores.index(max(scores)))
    return best


# A window that is more than a hundred tokens longer wins with less text on a side.
@pytest.mark.parametrize(
    ("width", "stride"), [(12, 1), (12, 2), (12, 3), (12, 5), (12, 20), (300, 128)]
)
def test_best_context(width, stride):
    rng = np.random.default_rng(stride)
    question, paragraph = rng.integers(0, 5, 30), rng.integers(0, 3 * width + 4, 30)
    layout = Layout(CLS_FIRST, question + SPECIAL, paragraph, width, stride)
    rows = np.repeat(np.arange(len(layout.tokens)), layout.tokens)
    within = np.arange(len(rows)) - np.repeat(
        np.cumsum(layout.tokens) - layout.tokens, layout.tokens
    )
    tokens = within + layout.first[rows]
    found = layout.max_context()[layout.in_texts[0]]
    for index in range(30):
        mine = np.flatnonzero(layout.text == index)
        best = brute_force_max_context(
            layout.first[mine], layout.tokens[mine], paragraph[index]
        )
        chosen = found & (layout.text[rows] == index)
        # Every token of the paragraph in one window, and in the best one.
        assert sorted(tokens[chosen]) == list(range(paragraph[index]))
        assert all(
            layout.index[row] == best[token]
            for row, token in zip(rows[chosen], tokens[chosen], strict=True)
        )


def test_chunks_are_the_whole(letters, squad, monkeypatch):
    paragraphs = [
        (
            "a b c d e f"[: 2 * i + 1],
            [(f"{i}{j}", "x y"[: 2 * j + 1], [("a", 0)]) for j in range(2)],
        )
        for i in range(6)
    ]
    path = squad(*paragraphs)
    sizes = WindowSizes(8, 2, 2)
    whole = made(path, letters, sizes, is_training=True)
    monkeypatch.setattr(windows_module, "_PARAGRAPHS", 2)
    parts = list(
        windows_of(read_paragraphs(path), letters, sizes, {}, is_training=True)
    )
    assert len(parts) == 3
    joined = Windows.joined(parts)
    for field in dataclasses.fields(Windows):
        found, expected = getattr(joined, field.name), getattr(whole, field.name)
        np.testing.assert_array_equal(found, expected, field.name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype


def test_nothing_is_dropped_in_silence(letters, squad):
    path = squad(
        ("", [("empty", "x", None)]),
        (
            "a b c d e f g",
            [
                ("long", "x y z", [("b", 2)]),
                ("wide", "x y", [("a b c d e", 0)]),
                ("misplaced", "x", [("b", 3)]),
                ("no question", "", [("c", 4)]),
            ],
        ),
    )
    notices = {}
    found = made(path, letters, WindowSizes(9, 3, 2), True, notices)
    assert [question.id for question in found.questions] == [
        "empty",
        "long",
        "wide",
        "no question",
    ]
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


def test_a_token_of_nothing_is_in_no_answer():
    spans = np.array([[0, 1], [2, 2], [4, 5]])
    answer = Answer("\u200b" * 3, 1)
    found = windows_module.first_and_last("a\u200b\u200b\u200bb", spans, answer)
    assert found == windows_module.NONE


def test_a_step_of_nothing_is_refused():
    with pytest.raises(UserError, match="^doc_stride=0: expected at least 1"):
        WindowSizes(doc_stride=0)
    WindowSizes(68, 1, 64)  # the shortest window for a question of this length


def official(shared, name, part, tokenizer):
    """Reads the official code's windows of a set of questions, and makes ours."""
    folder = shared("fixtures/official_squad")
    facts = json.loads((folder / f"features_{name}.json").read_text())
    expected = dict(np.load(folder / f"features_{name}.npz"))
    sizes = WindowSizes(
        facts["max_seq_length"], facts["doc_stride"], facts["max_query_length"]
    )
    keys = [
        (facts["qids"][question], window)
        for question, window in zip(
            expected["example_index"], expected["doc_span_index"], strict=True
        )
    ]
    paragraphs = read_paragraphs(folder / f"{name}_{part}.json")
    [found] = windows_of(paragraphs, tokenizer, sizes, {}, part == "train")
    return found, facts, expected, keys


def numbered(windows):
    return {
        (windows.questions[question].id, window): row
        for row, (question, window) in enumerate(
            zip(windows.question_index, windows.window_index.tolist(), strict=True)
        )
    }


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("name", ["v1", "v2", "edge"])
def test_official_windows(name, part, shared, english):
    found, facts, expected, keys = official(shared, name, part, english)
    rows = numbered(found)
    # What the official code drops has windows, too.
    assert {key[0] for key in rows} - {key[0] for key in keys} == set(facts["dropped"])
    places = [rows[key] for key in keys]
    width = facts["max_seq_length"]
    for feature, array in features_of(found, width).items():
        np.testing.assert_array_equal(array[places], expected[feature], feature)
    best = found.padded(found.is_max_context, width)[places]
    np.testing.assert_array_equal(best, expected["token_is_max_context"] == 1)
    if part == "train":
        theirs = [expected[n] for n in ("start_position", "end_position")]
        theirs = np.column_stack([*theirs, expected["is_impossible"]])
        differ = (found.answers[places] != theirs).any(axis=1)
        # The official alignment lets "tab" begin with the "a" before its tab.
        tab = [("edge-011", 0)] if name == "edge" else []
        assert [keys[i] for i in np.flatnonzero(differ)] == tab
