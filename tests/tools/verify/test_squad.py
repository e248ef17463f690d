"""Recordings of reading comprehension: recognised, compared, and broken ones found."""

import json

import numpy as np
import pytest

from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import beams_of_outputs
from albert_tf.tasks.question_answering.answers import predict
from tests.tools.verify.squad_recording import WIDTH
from tests.tools.verify.squad_recording import failed
from tests.tools.verify.squad_recording import recorded_arrays
from tools import verify


def test_windows(made, capsys):
    folder, _ = made
    verify.main(["", str(folder)])
    assert "14 of 14 arrays agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["input_ids", "paragraph_len", "token_is_max_context", "is_impossible"],
)
def test_other_windows_fail(name, made):
    folder, windows = made
    arrays = recorded_arrays(windows)
    array = arrays[name].copy()
    row = np.flatnonzero(windows.answers[:, 2] == 0)[0]
    place = (row, windows.first_lengths[row]) if array.ndim == 2 else row
    array[place] = 1 - array[place] if array[place] in (0, 1) else array[place] - 1
    np.savez(folder / "features_set.npz", **{**arrays, name: array})
    assert failed(folder) == [f"features_set/{name}"]
    fewer = {name: array[:-1] for name, array in arrays.items()}
    np.savez(folder / "features_set.npz", **fewer)
    assert failed(folder) == ["features_set/windows"]


def test_better_and_worse_spans(made):
    folder, windows = made
    arrays = recorded_arrays(windows)
    # "cat" is recorded as "cat sat", which is not that piece.
    arrays["tok_end_to_orig_index"][0, 1] += 4
    np.savez(folder / "features_set.npz", **arrays)
    deviations, _ = verify.verify(folder)
    noted = {d.name: d.note for d in deviations if d.note}
    assert noted["features_set/tok_end_to_orig_index"] == "better than recorded: 1"
    assert failed(folder) == []
    # The same piece, but of the other "the": that is a deviation.
    arrays = recorded_arrays(windows)
    ends = arrays["tok_end_to_orig_index"][0]
    token = np.flatnonzero(ends >= arrays["tok_start_to_orig_index"][0])[0]
    assert ends[token] < 3
    arrays["tok_start_to_orig_index"][0, token] += 15
    ends[token] += 15
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == [
        "features_set/tok_start_to_orig_index",
        "features_set/tok_end_to_orig_index",
    ]


def add_answers(folder, windows, version):
    """Records answers to random scores; returns their folder."""
    rng = np.random.default_rng(version)
    shape = (len(windows), WIDTH)
    inner = folder / f"answers_set_as_v{version}"
    inner.mkdir()
    facts = {"n_best_size": 4, "max_answer_length": 3}
    if version == 1:
        inputs = {
            name: rng.normal(size=shape).astype("float32")
            for name in ("start_log_prob", "end_log_prob")
        }
        scores = beams_of_logits(*inputs.values(), 4)
    else:
        inputs = {
            "start_top_log_probs": rng.normal(size=(len(windows), 2)),
            "start_top_index": rng.integers(0, 9, (len(windows), 2)),
            "end_top_log_probs": rng.normal(size=(len(windows), 6)),
            "end_top_index": rng.integers(0, 9, (len(windows), 6)),
            "cls_logits": rng.normal(size=len(windows)),
        }
        scores = beams_of_outputs(inputs)
        facts["evaluate_v2"] = {"null_score_diff_threshold": 0.25}
    found = predict(windows, scores, 4, 3)
    threshold = None if version == 1 else 0.25
    answers.write_answers(inner, found, threshold)
    np.savez(inner / "inputs.npz", **inputs)
    (inner / "metrics.json").write_text(json.dumps(facts))
    return inner


@pytest.mark.parametrize("version", [1, 2])
def test_answers(version, made):
    folder, windows = made
    inner = add_answers(folder, windows, version)
    deviations, _ = verify.verify(inner)
    names = [d.name for d in deviations if d.passed]
    assert names[:2] == ["predictions.json", "nbest_predictions.json"]
    # Together with the windows, too.
    deviations, _ = verify.verify(folder)
    assert f"{inner.name}/predictions.json" in [d.name for d in deviations]
    path = inner / "nbest_predictions.json"
    values = json.loads(path.read_text())
    values["q3"][0]["probability"] += 1e-16 + np.spacing(values["q3"][0]["probability"])
    path.write_text(json.dumps(values))
    assert "nbest_predictions.json" in failed(inner)
    (inner / "predictions.json").write_text(json.dumps({"q1": "cat", "more": ""}))
    assert failed(inner)[0] == "predictions.json"
