"""Strings to choices in a SavedModel, as run_race.py, whatever the options."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks import metrics
from albert_tf.tasks.multiple_choice.questions import ChoiceFile
from albert_tf.tasks.multiple_choice.questions import Question
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.task import Prepared
from tests import memory
from tests.serving.answers import some_at_night

_LENGTH = 20
_COLUMNS = ("text", "context", "options")
_QUESTIONS = [
    Question("1", "the film was very good .", "was it _ ?", ("good", "bad", "it")),
    Question("2", "", "", ("good", "bad . very bad . not very good . a bad one .")),
    Question("3", "a film , not good . " * 20, "_ is __ _", (" good ", "a plot")),
    Question("4", "a very   BAD plot\u2028", "and the ＿", ("plot", "film", "it", "_")),
]


@pytest.fixture(scope="module")
def choices(opened):
    return opened("multiple_choice")


@pytest.fixture(scope="module")
def probabilities(choices):
    examples = ChoiceFile("questions", tuple(_QUESTIONS))
    tokens = choices.task.tokenize(examples, choices.tokenizer, _LENGTH)
    outputs = OutputsPredictor(choices.model, 3, _LENGTH)(tokens)
    scores = choices.task.interpret(Prepared(examples, tokens), outputs)
    return metrics.softmax(scores)


def request(questions=_QUESTIONS):
    most = max(len(question.options) for question in questions)
    options = [[*q.options, *[""] * (most - len(q.options))] for q in questions]
    return {
        "question": tf.constant([q.text for q in questions]),
        "context": tf.constant([q.context for q in questions]),
        "options": tf.constant(options),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "optimize_for", some_at_night([None, "latency", "throughput"], "throughput")
)
def test_answers_are_those_of_the_command(optimize_for, probabilities, export_of):
    version = export_of("multiple_choice", optimize_for=optimize_for)
    signatures = tf.saved_model.load(str(version)).signatures
    assert set(signatures) == {"serving_default", "tokens"}
    serve = signatures["serving_default"]
    found = serve(**request())
    np.testing.assert_allclose(found["probabilities"], probabilities, atol=1e-5)
    assert found["choice"].numpy().tolist() == probabilities.argmax(axis=1).tolist()
    assert len(set(found["choice"].numpy().tolist())) > 1
    for row, question in enumerate(_QUESTIONS):
        alone = serve(**request([question]))["probabilities"][0]
        own = probabilities[row, : len(question.options)]
        np.testing.assert_allclose(alone, own, atol=1e-5)
    assert (version / WARMUP_FILE).exists()
    card = (version / "model_card.md").read_text()
    assert "the place of the most probable option" in card


@pytest.fixture(scope="module")
def module(choices):
    return build_module([bundle.open(choices.folder)])[0]


@pytest.fixture(scope="module")
def answer(module):
    return module.text_signature()


@pytest.mark.slow
def test_options_are_left_out_anywhere(answer):
    asked = request(_QUESTIONS[:1])
    whole = answer(**asked)["probabilities"].numpy()[0]
    options = tf.constant([["", "good", "", "bad", "it"]])
    found = answer(**{**asked, "options": options})
    places = found["probabilities"].numpy()[0]
    np.testing.assert_allclose(places, [0, whole[0], 0, *whole[1:]], atol=1e-6)
    assert found["choice"].numpy()[0] == places.argmax()


@pytest.mark.slow
def test_requests_that_cannot_be_answered(answer):
    asked = request(_QUESTIONS[:2])
    refused = tf.errors.InvalidArgumentError
    for options in ([["good"], [""]], tf.zeros([2, 0], tf.string)):
        with pytest.raises(refused, match="A question has no options"):
            answer(**{**asked, "options": tf.constant(options)})
    with pytest.raises(refused, match="differ in number"):
        answer(**{**asked, "options": tf.constant([["good"]])})
    empty = dict.fromkeys(("question", "context"), tf.zeros([0], tf.string))
    for size in (0, 2):
        found = answer(**empty, options=tf.zeros([0, size], tf.string))
        assert found["choice"].shape == (0,)


@pytest.mark.slow
def test_long_questions_and_options(module, choices):
    """Only the last tokens count, of texts many times as long as what is read."""
    asked = [
        Question("1", "it is", "was it _ ? " + "very good . " * 400, ("good", "bad")),
        Question("2", "it is", "very good . " * 400 + "was it _ ?", ("good", "bad")),
        Question("3", "it is", "was it", ("good . " * 800 + "bad", "bad")),
        Question("4", "it is", "_ . " * 900, ("good bad " * 300, "bad")),
    ]
    features = module.text_features(**request(asked))
    examples = ChoiceFile("questions", tuple(asked))
    tokens = choices.task.tokenize(examples, choices.tokenizer, _LENGTH)
    for place in np.ndindex(4, 2):
        start, length = tokens.starts[place], tokens.lengths[place]
        expected_ids = tokens.ids[start : start + length]
        row = features["input_ids"][place].numpy()
        np.testing.assert_array_equal(row[:length], expected_ids)


@pytest.mark.slow
def test_long_questions_are_cheap(module):
    # All options in all blanks would be a gigabyte.
    blanks = Question("1", "it is", "_ " * 100_000, ("good bad " * 1000, "bad"))
    features = module.text_features
    assert features(**request([blanks]))["input_ids"].shape[2] <= _LENGTH
    # This question is a megabyte.
    many = ("good", "bad", "it") * 100
    asked = request([Question("1", "it is", "was it " * 140_000, many)])
    assert memory.added(lambda: features(**asked)) < 150


@pytest.mark.slow
def test_a_predictor_takes_any_number_of_options(export_of, probabilities):
    columns = [[getattr(q, name) for q in _QUESTIONS] for name in _COLUMNS]
    predictor = Predictor(export_of("multiple_choice", optimize_for="throughput"))
    assert predictor.inputs == ("question", "context", "options")
    alone = predictor("was it _ ?", "a film", ["good", "bad"])
    assert len(alone["probabilities"]) == 2
    answers = predictor(*columns, batch_size=3)
    found = [answer["probabilities"] for answer in answers]
    np.testing.assert_allclose(found, probabilities, atol=1e-5)
    places = [answer["choice"] for answer in answers]
    assert places == probabilities.argmax(axis=1).tolist()
    json.dumps(answers)
    for options in ([], ["", ""]):
        with pytest.raises(UserError, match="options must hold at least one str"):
            predictor("was it _ ?", "a film", options)
