"""The page of wrong answers."""

import re

import pytest

from albert_tf.tasks.question_answering.answers import Candidate
from albert_tf.tasks.question_answering.answers import Prediction
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.question_answering.results import write_error_page

_CONTEXT = "a <b> cat & the dog"
_LEGEND = " In each paragraph"


def predicted(identity, start, end, null_odds=None):
    candidate = Candidate(_CONTEXT[start:end], start, end, 1.0, 1.0)
    return Prediction(identity, [candidate], null_odds)


@pytest.fixture
def page_of(tmp_path):
    """Writes a page; returns its HTML and that of each paragraph."""

    def write(questions, predictions, version=1, threshold=None):
        path = tmp_path / "dev_errors.html"
        asked = QuestionFile("x", (Paragraph(_CONTEXT, tuple(questions)),))
        write_error_page(path, "a<b", asked, predictions, version, threshold)
        page = path.read_text(encoding="utf-8")
        return page, re.findall('<p class="context" dir="auto">(.*)</p>', page)

    return write


def test_spans_are_coloured(page_of):
    questions = [
        Question("1", "who & <what>?", (Answer("cat & the dog", 6), Answer("dog", 16))),
        Question("right", "who?", (Answer("cat", 6),)),
    ]
    page, paragraphs = page_of(
        questions, [predicted("1", 2, 9), predicted("right", 6, 9)]
    )
    assert paragraphs == [
        'a <mark class="predicted">&lt;b&gt; </mark><mark class="gold predicted">cat'
        '</mark><mark class="gold"> &amp; the </mark><mark class="gold">dog</mark>'
    ]
    assert "<title>a&lt;b</title>" in page
    assert f"1 of 2 answers are not exactly right.{_LEGEND}" in page
    assert "<bdi>who &amp; &lt;what&gt;?</bdi>" in page
    assert (
        "Expected: <bdi>cat &amp; the dog</bdi> | <bdi>dog</bdi><br>"
        "Answered: <bdi>&lt;b&gt; cat</bdi><br>F1: 50.0" in page
    )
    # Without an error there are no colours to explain.
    page, _ = page_of(questions[1:], [predicted("right", 6, 9)])
    assert "0 of 1 answers are not exactly right." in page
    assert _LEGEND not in page


def test_no_answer(page_of):
    questions = [
        Question("1", "q", (Answer("cat", 6),)),
        Question("2", "q", is_impossible=True),
        Question("3", "q", (Answer("elsewhere", 6),)),
    ]
    predictions = [
        predicted("1", 6, 9, 2.0),
        predicted("2", 16, 19, 0.0),
        Prediction("3", [Candidate("empty", 0, 0, 0.0, 0.0)], 0.0),
    ]
    page, paragraphs = page_of(questions, predictions, version=2, threshold=1.0)
    assert paragraphs == [
        'a &lt;b&gt; <mark class="gold">cat</mark> &amp; the dog',
        'a &lt;b&gt; cat &amp; the <mark class="predicted">dog</mark>',
        "a &lt;b&gt; cat &amp; the dog",
    ]
    for expected, answered in (
        ("<bdi>cat</bdi>", "<i>no answer</i>"),
        ("<i>no answer</i>", "<bdi>dog</bdi>"),
        ("<bdi>elsewhere</bdi>", "<bdi>empty</bdi>"),
    ):
        assert f"Expected: {expected}<br>Answered: {answered}<br>" in page
