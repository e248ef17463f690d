"""Scores of rankings: NDCG and MRR at 10, and MAP."""

import numpy as np

from albert_tf.tasks.ranking.lists import NO_GRADE

NAMES = ("ndcg_at_10", "mrr_at_10", "map")
_RANKS = 10  # that NDCG and MRR look at


def ndcg_and_mrr(gains, ideal):
    """Computes NDCG and MRR of rankings, both at 10.

    Args:
        gains: `[queries, ranks]`, of the text at each rank; 0 if it is not relevant.
        ideal: `[queries, ranks]`, the gains in the best order, the first above 0.
    """
    gains, ideal = gains[:, :_RANKS], ideal[:, :_RANKS]
    ranks = np.arange(1, gains.shape[1] + 1)
    discounts = 1 / np.log2(ranks + 1)
    return {
        "ndcg_at_10": float(np.mean((gains @ discounts) / (ideal @ discounts))),
        "mrr_at_10": float(np.mean(((gains > 0) / ranks).max(axis=1))),
    }


def ranking_metrics(grades, scores):
    """Computes NDCG@10 with gains `2^grade - 1`, MRR@10 and MAP.

    Equal scores keep the order of the texts. Queries without a relevant text (a grade
    above 0) do not count.

    Args:
        grades: float `[queries, texts]`, `NO_GRADE` for no text.
        scores: float `[queries, texts]`.

    Returns:
        `{metric: float}`.
    """
    counted = (grades > 0).any(axis=1)
    grades, scores = grades[counted], scores[counted]
    is_text = grades > NO_GRADE
    order = np.argsort(-np.where(is_text, scores, -np.inf), axis=1, kind="stable")
    gains = np.where(is_text, np.exp2(grades) - 1, 0.0)
    ranked = np.take_along_axis(gains, order, axis=1)
    found = ndcg_and_mrr(ranked, -np.sort(-gains, axis=1))
    hits = ranked > 0
    precisions = hits * np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    averages = precisions.sum(axis=1) / hits.sum(axis=1)
    return {**found, "map": float(averages.mean())}
