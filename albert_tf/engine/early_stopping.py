"""Early stopping: when a run has brought nothing better for long enough."""

import math

from absl import logging


def evaluations_since_best(metrics, losses):
    """Counts the evaluations after the best; 0 if the last is the best so far.

    Args:
        metrics: of all evaluations so far, higher is better; NaN is worst.
        losses: theirs; of equal metrics, the lower loss is better, then the earlier.
    """
    ranks = list(map(_rank, metrics, losses))
    return len(ranks) - 1 - ranks.index(max(ranks))


def _rank(metric, loss):
    return _or_worst(metric), _or_worst(-loss)


def _or_worst(value):
    return -math.inf if math.isnan(value) else value


def out_of_patience(metrics, losses, patience):
    """Returns whether the best evaluation is `patience` evaluations back; 0: never.

    Args:
        metrics, losses: as for `evaluations_since_best`; there may be none yet.
    """
    if not (metrics and patience):
        return False
    since = evaluations_since_best(metrics, losses)
    if since < patience:
        return False
    logging.info(
        "Stopping early: the best of %d evaluations, %.4f, was %d evaluations ago.",
        len(metrics),
        metrics[-1 - since],
        since,
    )
    return True
