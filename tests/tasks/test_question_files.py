"""Files in SQuAD's layout, read piece by piece and strictly; run_squad's reading."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import notice_lines
from albert_tf.tasks.question_answering.questions import question_file
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.questions import read_question_file


def test_a_file(squad, tmp_path):
    path = squad(
        ("a b c", [("1", "who?", [("b", 2), ("b c", 2)]), ("2", "why?", None)]),
        ("d", [("3", "how?", [])]),
        version="v2.0",
    )
    first, second = read_paragraphs(path)
    assert (first.context, first.title) == ("a b c", "A title")
    assert first.questions == (
        Question("1", "who?", (Answer("b", 2), Answer("b c", 2))),
        Question("2", "why?", is_impossible=True),
    )
    assert second.questions == (Question("3", "how?"),)
    # Answers of impossible questions are none.
    path = tmp_path / "some.json"
    answers = '"is_impossible": true, "answers": [{"text": "c", "answer_start": 0}]'
    path.write_text(asked(QA.replace('"answers": []', answers)))
    [paragraph] = read_paragraphs(path)
    assert paragraph.questions == (Question("1", "q", is_impossible=True),)


QA = '{"id": "1", "question": "q", "answers": []}'


def paragraphs(text):
    return '{"data": [{"title": "T", "paragraphs": [' + text + "]}]}"


def asked(questions):
    return paragraphs('{"context": "c", "qas": [' + questions + "]}")


def test_what_is_no_squad(tmp_path):
    path = tmp_path / "some.json"
    start = '[{"text": "c", "answer_start": true}]'
    not_int = "'answer_start' of an answer to the question '1' is not of type int"
    for text, message in {
        '{"data": "é"}': "is not UTF-8",
        "[1, 2]": "row 1: expected a question, got 1; correct the row",
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
            list(read_paragraphs(path))
        assert str(path) in str(error.value)


def test_survey(squad, caplog):
    path = squad(
        ("a b c", [("1", "who?", [("b", 2), ("c", 4)]), ("2", " ", None)]),
        (" \n", [("3", "how?", None)]),
    )
    found = read_question_file(path)
    assert (len(found.paragraphs), len(found)) == (2, 3)
    assert (found.impossible, found.version) == (2, 2)
    assert notice_lines(found.notices()) == [
        "the question has no visible text: 1 question (2)",
        "the paragraph has no visible text: 1 question (3)",
    ]
    question_file(found, 2, "train")
    with pytest.raises(UserError, match="2 of its 3 questions have no answer; pass"):
        question_file(found, 1)
    with pytest.raises(UserError, match="holds no question"):
        read_question_file(squad(("a", [])))
    # What is odd is said of files without answers, too.
    caplog.clear()
    path = squad((" ", [("1", "who?", [])]), ("a", [("2", "who?", [])]))
    question_file(read_question_file(path), 2, "test")
    message = f"{path}: the paragraph has no visible text: 1 question (1)"
    assert caplog.messages == [message]


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
            question_file(read_question_file(path), 2, "train")
