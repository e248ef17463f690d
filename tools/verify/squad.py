"""Recordings of reading comprehension: windows, heads and answers.

A folder is recognised by its files:

    features_NAME.npz and .json, NAME_dev.json, NAME_train.json   windows
    inputs.npz with start_positions, expected.npz, a checkpoint   a head
    inputs.npz with scores, predictions.json                      answers, of the
        windows features_NAME beside the folder answers_NAME_as_vN

A folder that has windows is compared with all such folders in it. Texts, ids and
positions are compared one by one: 1 where two differ, otherwise 0. Where recorded spans
do not match their pieces, ours may be better; they are counted.
"""

import json
import os

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering import scores
from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import beams_of_outputs
from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective
from albert_tf.tasks.question_answering.scores import evaluate_version_1
from albert_tf.tasks.question_answering.scores import evaluate_version_2
from tools.verify import squad_windows
from tools.verify.recordings import Compared
from tools.verify.recordings import RecordedWindows
from tools.verify.recordings import loss_and_gradients
from tools.verify.recordings import model_with_head
from tools.verify.recordings import names_in
from tools.verify.recordings import read_arrays
from tools.verify.recordings import tokenizer_of
from tools.verify.recordings import without_masked

_INPUTS = "inputs.npz"
_FEATURES = ("input_ids", "input_mask", "segment_ids", "p_mask")
_LABELS = ("start_positions", "end_positions", "is_impossible")
_LOGITS = ("start_log_prob", "end_log_prob")
_BEAMS = (
    "start_top_log_probs",
    "start_top_index",
    "end_top_log_probs",
    "end_top_index",
    "cls_logits",
)
_BEST = ("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh")


def compare(directory, vocabulary=None):
    """Yields a `Compared` for each recording of reading comprehension in a folder."""
    names = names_in(directory)
    for name in names:
        recorded = RecordedWindows(directory, name)
        tokenizer = tokenizer_of(directory, vocabulary, recorded.do_lower_case)
        compared = squad_windows.compare(recorded, tokenizer)
        yield Compared(f"features_{name}/", *compared)
    if not names:
        yield from _compare_folder(directory, "")
        return
    for inner in sorted(os.listdir(directory)):
        yield from _compare_folder(os.path.join(directory, inner), f"{inner}/")


def _compare_folder(directory, prefix):
    path = os.path.join(directory, _INPUTS)
    if not os.path.exists(path):
        return
    inputs = read_arrays(path)
    if any(inputs.keys() >= {*names} for names in (_LOGITS, _BEAMS)):
        yield Compared(prefix, *_compare_answers(directory, inputs))
    elif inputs.keys() >= {*_FEATURES, *_LABELS}:
        yield Compared(prefix, *_compare_head(directory, inputs))


def _compare_head(directory, inputs):
    """Computes outputs, loss and gradients anew; `head.json` may say how many beams.

    Returns:
        Found and expected values, dicts of arrays by name.
    """
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    version = 1 if "start_logits" in expected else 2
    model = _head_model(directory, version)
    batch = {name: tf.constant(inputs[name]) for name in _FEATURES}
    found = dict(model(batch))
    found["sequence_output"] = model.albert(batch)["sequence_output"]
    labels = [inputs[name] for name in _LABELS]
    if version == 2:
        found |= model({**batch, "start_positions": inputs["start_positions"]})
    objective = QuestionAnsweringObjective(version, counts_padding=True)
    batch["labels"] = tf.stack(labels, axis=1)
    found |= loss_and_gradients(model, objective, batch)
    for name, theirs in expected.items():
        ours = found.get(name)
        if ours is not None and "log_probs" in name and ours.shape == theirs.shape:
            found[name], expected[name] = without_masked(ours, theirs)
    return found, expected


def _head_model(directory, version):
    arguments = {}
    path = os.path.join(directory, "head.json")
    if version == 2 and storage.exists(path):
        facts = read_json_object(path)
        arguments = {name: facts[name] for name in ("start_n_top", "end_n_top")}
    classes = {1: AlbertForQuestionAnswering, 2: AlbertForAnswerableQuestions}
    return model_with_head(directory, classes[version], arguments)


def _compare_answers(directory, inputs):
    """Makes files and figures anew, of scores of windows that lie beside the folder.

    Returns:
        Found and expected values: for each file 1 or 0 for each question,
        and the figures.
    """
    folder = os.path.dirname(os.path.abspath(directory))
    name = os.path.basename(os.path.abspath(directory)).removeprefix("answers_")
    windows = RecordedWindows(folder, name.rpartition("_as_")[0]).windows()
    facts = read_json_object(os.path.join(directory, "metrics.json"))
    is_first = _LOGITS[0] in inputs
    size, longest = facts["n_best_size"], facts["max_answer_length"]
    if is_first:
        beams = beams_of_logits(*(inputs[name] for name in _LOGITS), size)
    else:
        beams = beams_of_outputs(inputs)
    if len(beams[0]) != len(windows):
        raise UserError(
            f"{directory}/inputs.npz has scores of {len(beams[0])} windows, "
            f"but {len(windows)} windows were recorded."
        )
    predictions = answers.predict(windows, beams, size, longest)
    found, expected = {}, {}
    for name, ours in _files(predictions, facts).items():
        path = os.path.join(directory, name)
        if storage.exists(path):
            theirs = read_json_object(path)
            found[name] = _differences(ours, theirs)
            expected[name] = np.zeros_like(found[name])
    figures = (_figures_1 if is_first else _figures_2)(windows.questions, predictions)
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
    """Marks each question whose value differs in any digit with 1."""
    ids = list({**theirs, **ours})
    return np.array([json.dumps(ours.get(i)) != json.dumps(theirs.get(i)) for i in ids])


def _figures_1(questions, predictions):
    if not all(question.answers for question in questions):
        return {}
    return {"evaluate_v1": evaluate_version_1(questions, predictions)}


def _figures_2(questions, predictions):
    """Returns the figures of both passes, with and without SQuAD's threshold of 1."""
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
