"""Scores, and the command that prints them as SQuAD's own scripts do."""

import json

import numpy as np
import pytest

from albert_tf.tasks.question_answering import evaluate
from albert_tf.tasks.question_answering import scores
from albert_tf.tasks.question_answering.answers import Candidate
from albert_tf.tasks.question_answering.answers import Prediction
from albert_tf.tasks.question_answering.answers import beams_of_outputs
from albert_tf.tasks.question_answering.answers import predict
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.scores import evaluate_version_1
from albert_tf.tasks.question_answering.scores import evaluate_version_2


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1", "f1_or_none"),
    [
        ("The  Cat!", "cat", 1, 1, 1),
        ("a cat sat", "the cat ran", 0, 0.5, 0.5),
        ("cat cat dog", "cat dog dog bird", 0, 4 / 7, 4 / 7),
        ("", "", 1, 0, 1),
        ("The", "a", 1, 0, 1),
        ("cat", "", 0, 0, 0),
        ("athe", "the", 0, 0, 0),
        ("naïve «x»", "naive x", 0, 0, 0),
    ],
)
def test_one_answer(gold, predicted, exact, f1, f1_or_none):
    assert scores.exact_match(gold, predicted) == exact
    assert scores.f1(gold, predicted) == pytest.approx(f1)
    assert scores.f1_or_none(gold, predicted) == pytest.approx(f1_or_none)


@pytest.fixture
def files(squad, tmp_path):
    """Writes questions of the given answers, and what is predicted for them."""

    def write(golds, predictions, odds=None, **members):
        questions = [
            (identity, "q", None if texts is None else [(t, 0) for t in texts])
            for identity, texts in golds.items()
        ]
        paths = [squad(("context", questions), **members)]
        for name, values in (("predictions", predictions), ("odds", odds)):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(json.dumps(values))
        return [str(path) for path in paths]

    return write


def printed(capsys, *arguments):
    evaluate.main(["evaluate", *arguments])
    return capsys.readouterr()


def test_version_1(files, capsys):
    golds = {"1": ["the cat", "a dog"], "2": ["bird"], "3": ["fish"]}
    predictions = {"1": "dog", "2": "one bird", "unknown": "x"}
    data, predicted, _ = files(golds, predictions)
    out = printed(capsys, data, predicted)
    # evaluate-v1.1.py: (1 + 0 + 0) / 3 and (1 + 2 / 3 + 0) / 3.
    assert out.out == '{"exact_match": 33.333333333333336, "f1": 55.55555555555555}\n'
    assert "no prediction for 1 question, which score 0: 3" in out.err


GOLDS = {"a": ["cat"], "b": ["dog"], "c": None, "d": None, "e": ["red fish"]}
PREDICTIONS = {"a": "cat", "b": "bird", "c": "x", "d": "", "e": "fish"}
ODDS = {"a": -3.0, "b": 2.5, "c": 0.5, "d": 4, "e": 0.75}


def test_version_2(files, capsys):
    data, predicted, odds = files(GOLDS, PREDICTIONS, ODDS)
    found = printed(capsys, data, predicted)
    assert json.loads(found.out) == {
        "exact": 40.0,
        "f1": 100 * (1 + 0 + 0 + 1 + 2 / 3) / 5,
        "total": 5,
        "HasAns_exact": 100 / 3,
        "HasAns_f1": 100 * (1 + 2 / 3) / 3,
        "HasAns_total": 3,
        "NoAns_exact": 50.0,
        "NoAns_f1": 50.0,
        "NoAns_total": 2,
    }
    assert found.out.startswith('{\n  "exact": 40.0,\n  "f1": ')
    assert not found.err
    found = printed(capsys, data, predicted, f"--na-prob-file={odds}")
    figures = json.loads(found.out)
    # With odds above 1.0 b and d count as unanswered; c does not.
    assert (figures["exact"], figures["NoAns_exact"]) == (40.0, 50.0)
    # From 2 for nothing: a +1, c -1, e +0 or +2/3, b 0.
    assert (figures["best_exact"], figures["best_exact_thresh"]) == (60.0, -3.0)
    assert (figures["best_f1"], figures["best_f1_thresh"]) == (60.0, -3.0)
    assert "use thresholds chosen on " in found.err
    found = printed(
        capsys, data, predicted, "--na-prob-file", odds, "--na-prob-thresh=0.5"
    )
    # e is above, c is not: "greater than".
    assert json.loads(found.out)["f1"] == 40.0
    flags = [f"--na_prob_file={odds}", "--null_score_diff_threshold=0.5"]
    found = printed(capsys, data, predicted, *flags)
    # c is at the threshold: "from this on".
    assert json.loads(found.out)["exact"] == 60.0


@pytest.mark.parametrize(
    ("members", "flags"),
    [({"version": "v2.0"}, []), ({"version": 2.0}, []), ({}, ["--version=2"])],
)
def test_version_2_with_answers_only(members, flags, files, capsys):
    data, predicted, _ = files({"1": ["the"]}, {"1": "a"}, **members)
    figures = json.loads(printed(capsys, data, predicted, *flags).out)
    assert (figures["f1"], figures["HasAns_total"]) == (100.0, 1)
    assert "NoAns_total" not in figures


@pytest.mark.slow
def test_published_predictions(shared, capsys):
    data = shared("data/squad/dev-v1.1.json")
    predicted = shared("data/squad/predictions/logistic_regression_v1.1.json")
    figures = json.loads(printed(capsys, str(data), str(predicted)).out)
    assert figures == {"exact_match": 40.14191106906339, "f1": 50.98153647324482}


def test_figures_of_a_run():
    questions = [
        Question(identity, "q", tuple(Answer(text, 0) for text in texts or ()))
        for identity, texts in GOLDS.items()
    ]
    predictions = [
        Prediction(i, [Candidate(text, 0, 0, 0.0, 0.0)], ODDS[i])
        for i, text in PREDICTIONS.items()
    ]
    figures = evaluate_version_2(questions, predictions)
    assert figures["null_score_diff_threshold"] == figures["best_f1_thresh"] == -3.0
    # The question at the threshold itself becomes unanswered, so this is not best_f1.
    assert (figures["f1"], figures["best_f1"]) == (40.0, 60.0)
    given = evaluate_version_2(questions, predictions, 0.5)
    assert (given["exact"], given["NoAns_exact"]) == (60.0, 100.0)
    assert given["null_score_diff_threshold"] == 0.5
    figures = evaluate_version_1(questions[:2], predictions)
    assert figures == {"exact_match": 50.0, "f1": 50.0}


@pytest.mark.parametrize("name", ["v2", "edge"])
def test_official_figures_of_version_2(name, recorded, shared):
    folder = shared(f"fixtures/official_squad/answers_{name}_as_v2")
    facts = json.loads((folder / "metrics.json").read_text())
    windows = recorded(name)
    predictions = predict(
        windows, beams_of_outputs(dict(np.load(folder / "inputs.npz")))
    )
    found = evaluate_version_2(windows.questions, predictions)
    official = facts["evaluate_v2"]
    assert {key: found[key] for key in official} == official
    before = facts["before_threshold"]
    for key in ("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"):
        assert found[key] == before[key]
    texts = {p.question_id: p.answer() for p in predictions}
    raw = scores.raw_scores(windows.questions, texts, version=2)
    odds = {p.question_id: p.null_odds for p in predictions}
    with_odds = scores.version_2_figures(raw, odds)
    plain = scores.version_2_figures(raw)
    for key in ("exact", "f1", "total"):
        assert with_odds[key] == before[key]
        assert plain[key] == facts["before_threshold_plain"][key]
