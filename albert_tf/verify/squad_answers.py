"""Recorded answers, against this project's answers from the same scores."""

import json
import os

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering.answers import SpanScores
from albert_tf.tasks.question_answering.scoring import scores
from albert_tf.tasks.question_answering.scoring.evaluation import evaluate_version_1
from albert_tf.tasks.question_answering.scoring.evaluation import evaluate_version_2
from albert_tf.verify.recordings import read_windows

_LOGITS = ("start_log_prob", "end_log_prob")
_BEAMS = (
    "start_top_log_probs",
    "start_top_index",
    "end_top_log_probs",
    "end_top_index",
    "cls_logits",
)
_BEST = ("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh")


def knows(inputs):
    """Returns whether the arrays are scores to make answers of."""
    return any(all(name in inputs for name in names) for names in (_LOGITS, _BEAMS))


def compare(directory, inputs):
    """Makes the files and figures anew.

    Args:
        directory: `answers_NAME_as_vN`, beside the windows `features_NAME`.
        inputs: dict of the scores.

    Returns:
        Found and expected values: for each file 1 or 0 for each question,
        and the figures.
    """
    folder = os.path.dirname(os.path.abspath(directory))
    name = os.path.basename(os.path.abspath(directory)).removeprefix("answers_")
    windows = read_windows(folder, name.rpartition("_as_")[0]).windows()
    facts = read_json_object(os.path.join(directory, "metrics.json"))
    is_first = _LOGITS[0] in inputs
    size, longest = facts["n_best_size"], facts["max_answer_length"]
    if is_first:
        span_scores = SpanScores.of_logits(*(inputs[name] for name in _LOGITS), size)
    else:
        span_scores = SpanScores.of_beams(inputs)
    if len(span_scores.starts) != len(windows):
        raise UserError(
            f"{directory}/inputs.npz has scores of {len(span_scores.starts)} windows, "
            f"but {len(windows)} windows were recorded."
        )
    predictions = answers.predict(windows, span_scores, size, longest)
    found, expected = {}, {}
    for name, ours in _files(predictions, facts).items():
        path = os.path.join(directory, name)
        if storage.exists(path):
            theirs = read_json_object(path)
            found[name] = _differences(ours, theirs)
            expected[name] = np.zeros_like(found[name])
    figures = (_figures_1 if is_first else _figures_2)(windows, predictions)
    for group, ours in figures.items():
        theirs = facts.get(group, {})
        found |= {f"{group}/{name}": ours.get(name, np.nan) for name in theirs}
        expected |= {f"{group}/{name}": np.float64(theirs[name]) for name in theirs}
    return found, expected


def _files(predictions, facts):
    threshold = facts.get("evaluate_v2", {}).get("null_score_diff_threshold")
    ids = [prediction.question_id for prediction in predictions]
    files = {
        "predictions.json": [p.answer(threshold) for p in predictions],
        "nbest_predictions.json": list(map(answers.listed, predictions)),
        "predictions_without_threshold.json": [p.answer() for p in predictions],
        "null_odds.json": [p.null_odds for p in predictions],
    }
    return {name: dict(zip(ids, values, strict=True)) for name, values in files.items()}


def _differences(ours, theirs):
    """Marks with 1 each question whose value differs, to the last digit."""
    ids = list({**theirs, **ours})
    return np.array([json.dumps(ours.get(i)) != json.dumps(theirs.get(i)) for i in ids])


def _figures_1(windows, predictions):
    if not all(question.answers for question in windows.questions):
        return {}
    return {"evaluate_v1": evaluate_version_1(windows.questions, predictions)}


def _figures_2(windows, predictions):
    """Returns the figures of both passes, with and without SQuAD's threshold of 1."""
    questions = windows.questions
    odds = {p.question_id: p.null_odds for p in predictions}
    run = evaluate_version_2(questions, predictions)
    threshold = run["null_score_diff_threshold"]
    figures = {}
    for group, at in (("before_threshold", None), ("after_threshold", threshold)):
        texts = {p.question_id: p.answer(at) for p in predictions}
        raw = scores.raw_scores(questions, texts, version=2)
        figures[group] = scores.version_2_figures(raw, odds)
        figures[f"{group}_plain"] = scores.version_2_figures(raw)
    figures["before_threshold"] |= {name: run[name] for name in _BEST}
    figures["evaluate_v2"] = {
        **figures.pop("after_threshold"),
        "null_score_diff_threshold": threshold,
    }
    return figures
