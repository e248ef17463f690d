"""Early stopping: when a run has brought nothing better for long enough."""

import math

from absl import logging


def evaluations_since_best(values):
    """How many evaluations came after the best; 0 if the last is the best so far.

    Args:
        values: a metric of all evaluations so far, higher is better; NaN is worst.
    """
    values = [-math.inf if math.isnan(value) else value for value in values]
    return len(values) - 1 - values.index(max(values))


def out_of_patience(values, patience):
    """Whether the best of `values` lies `patience` evaluations back; 0 for never."""
    if not (values and patience) or evaluations_since_best(values) < patience:
        return False
    logging.info(
        "Stopped early: the best of %d evaluations, %.4f, is %d ago.",
        len(values),
        values[-1 - evaluations_since_best(values)],
        evaluations_since_best(values),
    )
    return True
