"""The page of wrong answers."""

import html.parser

from albert_tf.tasks.question_answering.answers import Candidate
from albert_tf.tasks.question_answering.answers import Prediction
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.question_answering.results import write_error_page

CONTEXT = "a <b> cat & the dog"


def predicted(identity, start, end, null_odds=None):
    candidate = Candidate(CONTEXT[start:end], start, end, 1.0, 1.0)
    return Prediction(identity, [candidate], null_odds)


class Marks(html.parser.HTMLParser):
    """The texts and their classes within paragraphs."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append((tag, dict(attrs).get("class", "")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text.append(data)
        if ("p", "context") in self.open:
            self.found.append((data, self.open[-1][1]))


def page_of(tmp_path, questions, predictions, version, threshold=None):
    path = tmp_path / "dev_errors.html"
    asked = QuestionFile("x", (Paragraph(CONTEXT, tuple(questions)),))
    write_error_page(path, "a<b", asked, predictions, version, threshold)
    return Marks(path.read_text(encoding="utf-8"))


def test_spans_are_coloured(tmp_path):
    questions = [
        Question("1", "who & <what>?", (Answer("cat & the dog", 6), Answer("dog", 16))),
        Question("right", "who?", (Answer("cat", 6),)),
    ]
    predictions = [predicted("1", 2, 9), predicted("right", 6, 9)]
    page = page_of(tmp_path, questions, predictions, version=1)
    assert page.found == [
        ("a ", "context"),
        ("<b> ", "predicted"),
        ("cat", "gold predicted"),
        (" & the ", "gold"),
        ("dog", "gold"),
    ]
    text = "".join(page.text)
    assert "1 of 2 answers are not exactly right" in text
    assert "who & <what>?" in text
    assert "Expected: cat & the dog | dogAnswered: <b> catF1: 50.0" in text
    assert not page.open


def test_a_page_without_errors_explains_no_colours(tmp_path):
    asked = [Question("1", "q", (Answer("cat", 6),))]
    page = page_of(tmp_path, asked, [predicted("1", 7, 9)], version=1)
    assert "In each paragraph" in "".join(page.text)
    page = page_of(tmp_path, asked, [predicted("1", 6, 9)], version=1)
    assert "0 of 1 answers are not exactly right." in "".join(page.text)
    assert "In each paragraph" not in "".join(page.text)


def test_scripts_of_the_other_direction_stand_apart(tmp_path):
    question = Question("1", "من كتب?", (Answer("محمد", 0), Answer("dog", 16)))
    asked = QuestionFile("x", (Paragraph(CONTEXT, (question,)),))
    write_error_page(tmp_path / "page.html", "t", asked, [predicted("1", 6, 9)], 1)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert '<h2><bdi>من كتب?</bdi> <span class="id">1</span>' in page
    assert "Expected: <bdi>محمد</bdi> | <bdi>dog</bdi><br>" in page
    assert "Answered: <bdi>cat</bdi><br>" in page


def test_no_answer(tmp_path):
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
    page = page_of(tmp_path, questions, predictions, version=2, threshold=1.0)
    assert page.found == [
        ("a <b> ", "context"),
        ("cat", "gold"),
        (" & the dog", "context"),
        ("a <b> cat & the ", "context"),
        ("dog", "predicted"),
        (CONTEXT, "context"),
    ]
    text = "".join(page.text)
    assert "Expected: catAnswered: no answer" in text
    assert "Expected: no answerAnswered: dog" in text
    assert "Expected: elsewhereAnswered: empty" in text
