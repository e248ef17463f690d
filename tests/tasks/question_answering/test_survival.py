"""Answers come back from their tokens as they are written."""

import pytest

from albert_tf.tasks.question_answering.reading.questions import read_paragraphs
from albert_tf.tasks.question_answering.survival import LostAnswer
from albert_tf.tasks.question_answering.survival import lost_answers


def test_reasons(letters, squad):
    context = "a  b cs d\u200b #xyz ish"
    answers = [
        ("b", 3),
        (" b ", 2),
        ("c", 5),
        ("s d", 6),
        ("yz", 12),
        ("\u200b", 9),
        ("d", 4),
        ("d\u200b", 8),
        ("x", 12),
    ]
    path = squad((context, [("1", "x", answers)]))
    count, lost = lost_answers(read_paragraphs(path), letters)
    assert count == 9
    assert lost == [
        LostAnswer("1", " b ", "b", "it has white space at its ends"),
        LostAnswer("1", "yz", "", "it is not where its answer_start says"),
        LostAnswer("1", "\u200b", "", "the tokenizer leaves nothing of it"),
        LostAnswer("1", "d", "", "it is not where its answer_start says"),
        LostAnswer(
            "1", "d\u200b", "d", "it has characters at an end that the tokenizer drops"
        ),
        LostAnswer("1", "x", "xyz", "it ends inside a token"),
    ]


@pytest.mark.parametrize("name", ["dev-v1.1", "cs224n-dev-v2.0"])
def test_real_answers(name, shared, english):
    path = shared(f"data/squad/{name}.json")
    count, lost = lost_answers(read_paragraphs(path), english)
    assert len(lost) <= 0.005 * count
    assert all("inside a token" in answer.reason for answer in lost)


def test_real_answers_in_chinese(shared, chinese, squad):
    text = shared("data/text_zh/classics/西游记.txt").read_text(encoding="utf-8")
    line = next(line.strip() for line in text.splitlines() if len(line) > 120)
    answers = [(line[i : i + 1 + i % 7], i) for i in range(0, 100, 3)]
    path = squad((line, [("1", "谁", answers)]))
    _, lost = lost_answers(read_paragraphs(path), chinese)
    assert lost == []
