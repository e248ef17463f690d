"""The figures of a run: the scores of its predictions, and the odds of abstaining.

Source: `evaluate_v1` and `evaluate_v2` in squad_utils.py of google-research/albert.
"""

from albert_tf.tasks.question_answering.scoring import scores

CHOSEN_HERE = "chosen on the questions that are scored"
GIVEN = "given"


def evaluate_version_1(questions, predictions):
    """Computes exact match and F1 in per cent.

    Args:
        questions: list of `Question`.
        predictions: list of `Prediction`.
    """
    texts = {prediction.question_id: prediction.answer() for prediction in predictions}
    return scores.version_1_figures(scores.raw_scores(questions, texts, version=1))


def evaluate_version_2(questions, predictions, null_score_diff_threshold=None):
    """Computes the figures after a threshold on the null odds, and its origin.

    The official code always chooses the threshold with the best F1 on the very
    questions that it then scores. Beyond its report there are the figures of questions
    with and without answers.

    Args:
        questions: list of `Question`.
        predictions: list of `Prediction`, with null odds.
        null_score_diff_threshold: odds from which on the answer is "", or None to
            choose the threshold as the official code does.

    Returns:
        A dict of the figures of evaluate-v2.0.py for the answers that are then written,
        best_exact, best_f1 and their thresholds, null_score_diff_threshold, and
        threshold_is, "given" or "chosen on the questions that are scored".
    """
    odds = {p.question_id: p.null_odds for p in predictions}
    texts = {p.question_id: p.answer() for p in predictions}
    raw = scores.raw_scores(questions, texts, version=2)
    best = scores.best_figures(raw, texts, odds)
    is_given = null_score_diff_threshold is not None
    threshold = null_score_diff_threshold if is_given else best["best_f1_thresh"]
    written = {p.question_id: p.answer(threshold) for p in predictions}
    after = scores.raw_scores(questions, written, version=2)
    return {
        **scores.version_2_figures(after),
        **best,
        "null_score_diff_threshold": threshold,
        "threshold_is": GIVEN if is_given else CHOSEN_HERE,
    }
