"""Strings to answers in a SavedModel, as run_squad.py, whatever the lengths."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.task import Prepared
from tests.serving.answers import some_at_night

pytestmark = pytest.mark.slow

_LENGTH = 20
_QUESTIONS = ["is it good ?", "", "what film was it and was the plot good ?", "not ?"]
_CONTEXTS = [
    "the film was very good .",
    "",
    "a film , not good . it is a bad one . " * 20,  # more windows than a group has
    "a very   BAD plot\u2028 and the film",
]


_V1, _V2 = "question_answering", "answerable_questions"


def predictions(served):
    task = served.task
    paragraphs = tuple(
        Paragraph(context, (Question(str(i), question),))
        for i, (question, context) in enumerate(zip(_QUESTIONS, _CONTEXTS, strict=True))
    )
    examples = QuestionFile("questions", paragraphs)
    tokens = task.tokenize(examples, served.tokenizer, _LENGTH)
    outputs = OutputsPredictor(served.model, 4, _LENGTH, task.min_tokens)(tokens)
    return task.interpret(Prepared(examples, tokens), outputs)


def check(found, expected):
    for row, prediction in enumerate(expected):
        candidates = [c for c in prediction.candidates if c.start_score > -1e5]
        if [c.text for c in candidates] == ["empty"]:
            candidates = []
        candidates = candidates[:3]
        filling = [""] * (3 - len(candidates))
        answers = found["answers"][row].tolist()
        assert answers == [c.text for c in candidates] + filling
        shares = prediction.probabilities()[: len(candidates)]
        own = found["scores"][row][: len(candidates)]
        np.testing.assert_allclose(own, shares, rtol=1e-3)
        for answer, start, end in zip(
            answers, found["start"][row], found["end"][row], strict=True
        ):
            assert _CONTEXTS[row][start:end] == answer


def check_odds(found, expected):
    odds = [prediction.null_odds for prediction in expected]
    np.testing.assert_allclose(found["no_answer_score"], odds, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "optimize_for"),
    [
        (_V1, None),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in ((_V1, "latency"), (_V2, "latency"), (_V2, "throughput"))
        ),
    ],
)
def test_answers_are_those_of_the_command(kind, optimize_for, opened, export_of):
    expected = predictions(opened(kind))
    version = export_of(kind, optimize_for=optimize_for)
    predictor = Predictor(version)
    for batch_size in (1, 4):
        found = predictor.arrays(_QUESTIONS, _CONTEXTS, batch_size=batch_size)
        check(found, expected)
    if kind == _V2:
        check_odds(found, expected)
    assert sum(bool(answer) for answer in found["answers"][:, 0]) >= 2
    description = json.loads((version / "signature.json").read_text())
    assert description["serves"] == "question_answering"
    default = description["signatures"]["serving_default"]
    assert set(default["inputs"]) == {"question", "context"}
    requests = tf.data.TFRecordDataset(str(version / WARMUP_FILE))
    first = next(iter(requests)).numpy()
    assert b"question" in first and b"context" in first


@pytest.mark.parametrize("kind", some_at_night([_V1, _V2], _V2))
def test_token_ids_give_what_the_model_returns(kind, opened):
    """Few of them are enough."""
    served = opened(kind)
    module, _, _ = build_module([bundle.open(served.folder)])
    ids = tf.constant([[2, 9, 3, 3]])
    segments = tf.constant([[0, 0, 0, 1]])
    tokens = {"input_ids": ids, "input_mask": ids * 0 + 1, "segment_ids": segments}
    outputs = module.signatures()["tokens"](**tokens)
    padding = [[0, 0], [0, 2 if kind == _V2 else 0]]
    padded = {n: tf.pad(v, padding) for n, v in tokens.items()}
    for name, value in served.model(padded).items():
        np.testing.assert_allclose(outputs[name], value, atol=1e-4)


@pytest.mark.parametrize(
    ("threshold", "is_answered"),
    [(-1e6, False), pytest.param(None, True, marks=pytest.mark.nightly)],
)
def test_one_question_and_its_threshold(threshold, is_answered, opened, tmp_path):
    v2 = opened(_V2)
    info = {"max_seq_length": _LENGTH, "task": v2.task.to_dict()}
    info["dev"] = {"null_score_diff_threshold": threshold} if threshold else {}
    v2.model.save_pretrained(tmp_path, v2.tokenizer, info)
    _, served, _ = build_module([bundle.open(tmp_path)])
    assert (str(threshold) in served.task.meaning()["no_answer_score"]) != is_answered
    predictor = Predictor(tmp_path)
    assert predictor.inputs == ("question", "context")
    arrays, expected = predictor.arrays(_QUESTIONS, _CONTEXTS), predictions(v2)
    check(arrays, expected)
    check_odds(arrays, expected)
    row = int(np.argmax(arrays["answers"][:, 0] != ""))
    found = predictor(context=_CONTEXTS[row], question=_QUESTIONS[row])
    best = found["answers"][0]
    assert best["answer"] == arrays["answers"][row, 0]
    assert _CONTEXTS[row][best["start"] : best["end"]] == best["answer"]
    assert best["score"] == pytest.approx(arrays["scores"][row, 0], rel=1e-3)
    assert found["answer"] == (best["answer"] if is_answered else "")
    assert [a["answer"] for a in found["answers"]] == [
        answer for answer in arrays["answers"][row] if answer
    ]
    json.dumps(found)


def test_no_contexts_and_contexts_that_are_too_long(saved_model, monkeypatch):
    for place in ("requests", "inputs"):
        monkeypatch.setattr(f"albert_tf.serving.{place}.MOST_CHARACTERS", 60)
    predictor = Predictor(saved_model(_V1))
    # A limit of what is read at once, not of what a call takes.
    found = predictor(["is it good ?"] * 5, ["the film was very good ."] * 5)
    assert len({answer["answer"] for answer in found}) == 1
    with pytest.raises(UserError, match="^context has more than 60 characters in a"):
        predictor(["not ?"] * 2, ["the film .", "a film " * 9])
    # The question may be of any length: its end is not read.
    assert predictor("is it good ? " * 99, "the film .") == predictor(
        "is it good ? is it good ?", "the film ."
    )
    empty = tf.constant([], tf.string)
    answers = predictor.signature(question=empty, context=empty)["answers"]
    assert answers.shape == (0, 3)
