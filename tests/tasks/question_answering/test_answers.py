"""Scores of tokens become answers as in the official code, digit by digit."""

import json

import numpy as np
import pytest

from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of


@pytest.fixture
def windows(letters, squad):
    """Two questions on "a b c d e f", in two windows of four tokens each."""
    path = squad(("a b c d e f", [("1", "x", []), ("2", "y", [])]))
    sizes = WindowSizes(max_seq_length=8, doc_stride=2, max_query_length=1)
    [found] = windows_of(read_paragraphs(path), letters, sizes, {})
    assert found.first_lengths.tolist() == [3] * 4
    # "c" and "d" are seen best by the first window.
    best = found.padded(found.is_max_context, 8)[:2]
    assert best.astype(int).tolist() == [
        [0, 0, 0, 1, 1, 1, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 0],
    ]
    return found


def logits(rows):
    return np.array(rows, np.float32)


LOW = -9.0


def test_version_1_by_hand(windows):
    start, end = np.full((2, 4, 8), LOW, np.float32)
    start[0, 3], end[0, 4] = 2, 1  # "a b": 3
    start[0, 1] = 99  # a token of the question is no answer
    end[1, 7] = 99  # nor is [SEP]
    start[1, 3] = 98  # "c" is not scored here, where the first window sees it better
    start[1, 6], end[1, 6] = 1, 0.5  # "f"
    start[2, 5], end[2, 3] = 5, 5  # an end before the start
    scores = answers.beams_of_logits(start, end, n_best_size=3)
    first, second = answers.predict(windows, scores, n_best_size=2, max_answer_length=2)
    assert first.candidates == [
        answers.Candidate("a b", 0, 3, 2.0, 1.0),
        answers.Candidate("f", 10, 11, 1.0, 0.5),
    ]
    assert first.answer() == "a b"
    assert first.probabilities() == pytest.approx([0.81757448, 0.18242552])
    assert second.question_id == "2"
    # Of equal logits those of the first tokens are taken, which are no answers; what
    # is left begins at "c" with 5 and ends with -9.
    assert second.candidates == [answers.Candidate("empty", 0, 0, 0.0, 0.0)]


def test_version_2_by_hand(windows):
    outputs = {
        "start_top_index": np.array([[3, 0], [6, 4], [3, 4], [3, 3]]),
        "start_top_log_probs": logits([[-1, -2], [-1, -2], [-3, -4], [-5, -6]]),
        "end_top_index": np.array([[3, 4, 3, 4], [6, 5, 6, 4], [2, 7, 7, 2], [2] * 4]),
        "end_top_log_probs": logits([[-1, -2, 0, 0], [-1, 0, -2, 0], [0] * 4, [0] * 4]),
        "cls_logits": logits([3, 1.5, -2, 4]),
    }
    scores = answers.beams_of_outputs(outputs)
    first, second = answers.predict(windows, scores)
    # "[CLS] …" is none, and "e d" neither; of equal scores the first window leads.
    assert first.candidates == [
        answers.Candidate("a", 0, 1, -1.0, -1.0),
        answers.Candidate("f", 10, 11, -1.0, -1.0),
        answers.Candidate("d", 6, 7, -2.0, 0.0),
        answers.Candidate("a b", 0, 3, -1.0, -2.0),
        answers.Candidate("d e f", 6, 11, -2.0, -2.0),
    ]
    assert first.null_odds == 1.5
    assert first.answer(1.6) == "a"
    assert first.answer(1.5) == ""
    assert second.null_odds == -2
    assert second.candidates == [answers.Candidate("", 0, 0, -1e6, -1e6)]
    assert second.candidates[0].score == -2e6


def test_null_odds_are_no_negative_zeros(windows):
    outputs = {"cls_logits": logits([-0.0, 2, 1, 0.5])}
    for side in ("start", "end"):
        outputs[f"{side}_top_log_probs"] = np.zeros((4, 1), np.float32)
        outputs[f"{side}_top_index"] = np.full((4, 1), 3)
    first, second = answers.predict(windows, answers.beams_of_outputs(outputs))
    assert json.dumps([first.null_odds, second.null_odds]) == "[0.0, 0.5]"


def test_padding_takes_no_rank():
    """However high its scores are: what is padded to decides nothing."""
    scores = np.array([[1.0, 2.0, 3.0, 9.0, 9.0], [5.0, 4.0, 3.0, 2.0, 9.0]], "f")
    starts, _, ends, *_ = answers.beams_of_logits(
        scores, scores, 2, lengths=np.array([3, 4])
    )
    assert starts.numpy()[:, :, 0].tolist() == [[2, 1], [0, 1]]
    assert ends.numpy()[:, 0].tolist() == [[2, 1], [0, 1]]


@pytest.mark.parametrize("name", ["v1_as_v1", "edge_as_v1", "v2_as_v2", "edge_as_v2"])
def test_official_answers(name, recorded, shared, tmp_path):
    folder = shared(f"fixtures/official_squad/answers_{name}")
    inputs = dict(np.load(folder / "inputs.npz"))
    facts = json.loads((folder / "metrics.json").read_text())
    best, longest = facts["n_best_size"], facts["max_answer_length"]
    if name.endswith("v1"):
        sides = inputs["start_log_prob"], inputs["end_log_prob"]
        scores, count = answers.beams_of_logits(*sides, best), 2
    else:
        scores, count = answers.beams_of_outputs(inputs), 4
    found = answers.predict(recorded(name.partition("_")[0]), scores, best, longest)
    answers.write_answers(tmp_path, found)
    if count == 4:
        without = tmp_path / "predictions_without_threshold.json"
        (tmp_path / "predictions.json").rename(without)
        threshold = facts["evaluate_v2"]["null_score_diff_threshold"]
        answers.write_answers(tmp_path, found, threshold)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (folder / file.name).read_bytes(), file.name
    assert len(list(tmp_path.iterdir())) == count
