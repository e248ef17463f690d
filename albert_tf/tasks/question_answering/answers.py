"""Ranks answers by token scores, as the official code does.

Source: `write_predictions_v1`, `write_predictions_v2` and their helpers in
squad_utils.py of google-research/albert. Shapes: W windows, T tokens per window.
"""

import dataclasses
import math

import numpy as np
import tensorflow as tf

from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.tasks.question_answering.windows import characters

PREDICTIONS, NBEST = "predictions.json", "nbest_predictions.json"
NULL_ODDS = "null_odds.json"
NO_NULL_SCORE = 1000000.0
"""The null odds of a question without windows."""
_PADDING = -1e30


def beams_of_logits(start_logits, end_logits, n_best_size, lengths=None):
    """Ranks the beams of a model that scores starts and ends apart, the best first.

    Of equal logits, the earlier token ranks higher. Arguments are arrays, or tensors in
    a graph.

    Args:
        start_logits, end_logits: float32 `[W, T]`.
        n_best_size: how many of each are combined.
        lengths: int `[W]`, tokens of each window; padding behind them takes no
            rank, so that its length does not matter. None to rank padding, too, as
            the official code does.

    Returns:
        starts: int `[W, starts, 1]`, places in the window.
        start scores: float32 of the same shape.
        ends: int `[W, starts or 1, ends]`, for each start or for all.
        end scores: float32 of the same shape.
        null scores: float32 `[W]`, high where there is no answer; None for a model
            that always answers.
    """
    found = []
    for logits in map(tf.convert_to_tensor, (start_logits, end_logits)):
        width = tf.shape(logits)[1]
        if lengths is not None:
            logits = tf.where(tf.sequence_mask(lengths, width), logits, _PADDING)
        scores, places = tf.math.top_k(logits, tf.minimum(n_best_size, width))
        found.append((places, scores))
    starts, ends = found
    return *(v[:, :, None] for v in starts), *(v[:, None, :] for v in ends), None


def beams_of_outputs(outputs):
    """Returns the beams of a model that looks for ends given the start.

    Args:
        outputs: dict of `start_top_log_probs`, `start_top_index` `[W, starts]`,
            `end_top_log_probs`, `end_top_index` `[W, starts * ends]`, the ends of
            the first start first, and `cls_logits` `[W]`.

    Returns:
        The five tensors of `beams_of_logits`.
    """
    starts = outputs["start_top_index"]
    grid = tf.concat([tf.shape(starts), [-1]], axis=0)
    return (
        starts[:, :, None],
        outputs["start_top_log_probs"][:, :, None],
        tf.reshape(outputs["end_top_index"], grid),
        tf.reshape(outputs["end_top_log_probs"], grid),
        outputs["cls_logits"],
    )


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A span of the paragraph that may be the answer.

    Attributes:
        start, end: bounds in characters of the paragraph, end exclusive.
    """

    text: str
    start: int
    end: int
    start_score: float
    end_score: float

    @property
    def score(self):
        """The score that ranks candidates."""
        return self.start_score + self.end_score


_EMPTY = Candidate("empty", 0, 0, 0.0, 0.0)
_NONE = Candidate("", 0, 0, -1e6, -1e6)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The prediction for one question.

    Attributes:
        candidates: the n-best `Candidate`s with distinct texts; at least one.
        null_odds: the score of no answer; None for a model that always answers.
    """

    question_id: str
    candidates: list
    null_odds: float | None = None

    def answer(self, null_score_diff_threshold=None):
        """Returns the best text, or "" if the null odds reach the threshold."""
        threshold = null_score_diff_threshold
        if threshold is not None and self.null_odds >= threshold:
            return ""
        return self.candidates[0].text

    def probabilities(self):
        """Computes the softmax of the candidates' scores."""
        scores = [candidate.score for candidate in self.candidates]
        best = max(scores)
        powers = [math.exp(score - best) for score in scores]
        total = sum(powers)
        return [power / total for power in powers]


def predict(windows, beams, n_best_size, max_answer_length):
    """Ranks the stretches of each question's paragraph.

    Args:
        windows: `Windows`, all of each of its questions.
        beams: the result of `beams_of_logits`, of these windows.
        n_best_size: candidates of a question at most.
        max_answer_length: tokens of an answer at most.

    Returns:
        A `Prediction` for each of `windows.questions`, even without windows.
    """
    *spans, null_scores = (None if v is None else np.asarray(v) for v in beams)
    question_index, *stretches = _stretches(windows, *spans, max_answer_length)
    numbers = np.arange(len(windows.questions) + 1)
    bounds = np.searchsorted(question_index, numbers)
    rows = np.searchsorted(windows.question_index, numbers)
    predictions = []
    for index, question in enumerate(windows.questions):
        own = [values[bounds[index] : bounds[index + 1]] for values in stretches]
        candidates = _best_of(*own, windows.contexts[index], n_best_size)
        null_odds = None
        if null_scores is not None:
            # Adding zero makes zeros of -0.0.
            mine = (null_scores[rows[index] : rows[index + 1]] + 0).tolist()
            null_odds = min([NO_NULL_SCORE, *mine])
        if not candidates:
            candidates = [_EMPTY if null_odds is None else _NONE]
        predictions.append(Prediction(question.id, candidates, null_odds))
    return predictions


def _stretches(windows, starts, start_scores, ends, end_scores, max_answer_length):
    """Lists the pairs of start and end that may be answers, by window and rank.

    Returns arrays of equal length: question, first character, end (exclusive), score of
    the start, score of the end.
    """
    width = 1 + max(int(starts.max(initial=0)), int(windows.lengths.max(initial=0)))
    is_best = windows.padded(windows.is_max_context, width)  # [W, T]
    row = np.arange(len(windows))[:, None, None]  # [W, 1, 1]
    within = ends < windows.text_ends[row]
    possible = is_best[row, starts] & within  # [W, starts, ends]
    possible &= (ends >= starts) & (ends - starts < max_answer_length)
    row, i, j = np.nonzero(possible)

    def pick(values):
        values = np.broadcast_to(values, possible.shape)
        return values[row, i, j]

    first = windows.starts[row]
    return (
        windows.question_index[row],
        windows.spans[first + pick(starts), 0],
        windows.spans[first + pick(ends), 1],
        # Adding zero makes zeros of -0.0, as sums of the official code do.
        pick(start_scores).astype(np.float64) + 0.0,
        pick(end_scores).astype(np.float64) + 0.0,
    )


def _best_of(starts, ends, start_scores, end_scores, context, n_best_size):
    order = np.argsort(-(start_scores + end_scores), kind="stable")
    candidates = {}
    for index in order.tolist():
        if len(candidates) == n_best_size:
            break
        start, end = characters(context, int(starts[index]), int(ends[index]))
        text = context[start:end]
        if text not in candidates:
            candidates[text] = Candidate(
                text, start, end, float(start_scores[index]), float(end_scores[index])
            )
    return list(candidates.values())


def write_answers(folder, predictions, threshold=None):
    """Writes the answers to each question, byte-identical to the official code.

    SQuAD's scripts read `PREDICTIONS`; `NBEST` has the candidates with scores and
    probabilities; `NULL_ODDS` (SQuAD 2.0) has the scores of no answer.

    Args:
        folder: a `pathlib.Path`.
        predictions: list of `Prediction`.
        threshold: null odds from which on the answer is "", or None.
    """
    files = {
        PREDICTIONS: {p.question_id: p.answer(threshold) for p in predictions},
        NBEST: {p.question_id: listed(p) for p in predictions},
    }
    if predictions[0].null_odds is not None:
        files[NULL_ODDS] = {p.question_id: p.null_odds for p in predictions}
    for name, values in files.items():
        write_atomically(folder / name, json_text(values, indent=4, ensure_ascii=True))


def listed(prediction):
    """Converts the candidates of a `Prediction` to the dicts to write."""
    return [
        {
            "text": candidate.text,
            "probability": probability,
            "start_log_prob": candidate.start_score,
            "end_log_prob": candidate.end_score,
        }
        for candidate, probability in zip(
            prediction.candidates, prediction.probabilities(), strict=True
        )
    ]
