"""Early stopping: when a run has brought nothing better for long enough."""

import math

from absl import logging


def is_best(metrics, losses):
    """Whether the last evaluation is better than all before it.

    Args:
        metrics: of all evaluations so far, higher is better; NaN is worst.
        losses: theirs; of equal metrics, the lower loss is better.
    """
    *earlier, last = map(_rank, metrics, losses)
    return all(last > rank for rank in earlier)


def _rank(metric, loss):
    return _or_worst(metric), _or_worst(-loss)


def _or_worst(value):
    return -math.inf if math.isnan(value) else value


def evaluations_since_best(metrics):
    """How many evaluations came after the best; 0 if the last is the best so far.

    Args:
        metrics: of all evaluations so far, higher is better; NaN is worst.
    """
    metrics = [_or_worst(metric) for metric in metrics]
    return len(metrics) - 1 - metrics.index(max(metrics))


def out_of_patience(values, patience):
    """Whether the best of `values` lies `patience` evaluations back; 0 for never."""
    if not (values and patience) or evaluations_since_best(values) < patience:
        return False
    logging.info(
        "Stopping early: the best of %d evaluations, %.4f, was %d evaluations ago.",
        len(values),
        values[-1 - evaluations_since_best(values)],
        evaluations_since_best(values),
    )
    return True
