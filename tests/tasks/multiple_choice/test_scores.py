"""Scores, simple guesses, and the files that show the choices."""

import json

import numpy as np
import pytest

from albert_tf.tasks.multiple_choice.questions import ChoiceFile
from albert_tf.tasks.multiple_choice.questions import Question
from albert_tf.tasks.multiple_choice.task import baseline_scores
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples

_QUESTIONS = (
    Question("a", "x <b>", "why & how?", ("no", "a long one", "yes"), 1, "high"),
    Question("b", "y", "what?", ("one", "two"), 1, "middle"),
    Question("c", "z", "who?", ("me", "you", "us", "they"), 0, "high"),
)
_LENGTHS = np.array([[5, 5, 5, 0], [5, 5, 0, 0], [5, 5, 5, 5]], np.int32)
# Where a question has no option, batches of others leave 0.
_OUTPUTS = np.array([[-3, -1, -2, 0], [-1, -2, 0, 0], [-1, -2, -2, -2]], np.float32)


@pytest.fixture
def prepared():
    labels = np.array([1, 1, 0], np.int32)
    nothing = np.zeros_like(_LENGTHS)
    tokens = TokenizedExamples(nothing, nothing, _LENGTHS, nothing, labels)
    return Prepared(ChoiceFile("some.jsonl", _QUESTIONS), tokens)


@pytest.fixture
def task():
    return create_task("multiple_choice", "race")


def test_scores(task, prepared):
    interpreted = task.interpret(prepared, _OUTPUTS)
    scores = task.score(prepared, interpreted)
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert (scores["high_accuracy"], scores["middle_accuracy"]) == (1.0, 0.0)
    losses = []
    for question, row in zip(_QUESTIONS, _OUTPUTS.astype(float), strict=True):
        own = np.exp(row[: len(question.options)])
        losses.append(-np.log(own[question.label] / own.sum()))
    assert scores["loss"] == pytest.approx(np.mean(losses), abs=1e-7)


def test_one_group_is_not_scored_twice(task, prepared):
    examples = ChoiceFile("some.jsonl", _QUESTIONS[::2])
    tokens = prepared.tokens.take(np.array([0, 2]))
    one = Prepared(examples, tokens)
    scores = task.score(one, task.interpret(one, _OUTPUTS[::2]))
    assert "high_accuracy" not in scores


def test_guesses():
    assert baseline_scores(_QUESTIONS) == {
        "random_accuracy": pytest.approx((1 / 3 + 1 / 2 + 1 / 4) / 3),
        "longest_accuracy": pytest.approx(1 / 3),
        "position_accuracy": pytest.approx(2 / 3),
    }


def test_predictions(task, prepared, tmp_path):
    interpreted = task.interpret(prepared, _OUTPUTS)
    task.write_predicted(tmp_path, "x_", prepared, interpreted)
    lines = (tmp_path / "x_predictions.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [line["id"] for line in found] == ["a", "b", "c"]
    assert [line["choice"] for line in found] == [1, 0, 0]
    assert [line["answer"] for line in found] == ["a long one", "one", "me"]
    own = np.exp([-1.0, -2.0])
    assert found[1]["probabilities"] == pytest.approx(own / own.sum())


def test_the_page_of_errors(task, prepared, tmp_path):
    interpreted = task.interpret(prepared, _OUTPUTS)
    task.write_scored(tmp_path, "dev", prepared, interpreted)
    page = (tmp_path / "dev_errors.html").read_text()
    assert "<title>race: some.jsonl</title>" in page
    assert "1 of 3 answers are wrong" in page
    assert page.count("<article>") == 1
    assert '<li><mark class="predicted">one</mark> 0.731</li>' in page
    assert '<li><mark class="gold">two</mark> 0.269</li>' in page
    # A text is no HTML.
    others = task.interpret(prepared, -_OUTPUTS)
    task.write_scored(tmp_path, "dev", prepared, others)
    page = (tmp_path / "dev_errors.html").read_text()
    assert "why &amp; how?" in page and "x &lt;b&gt;" in page
    assert "2 of 3 answers are wrong" in page
