"""The best evaluation of a run, and how long ago it was."""

import math
import os

from absl import logging

from albert_tf import storage


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


def save_best_model(model, directory, step, tokenizer, info):
    """Writes the model directory `best-<step>`, and then removes earlier ones.

    Args:
        model: an `AlbertForPreTraining`.
        directory: where it is to lie.
        step: optimizer steps done.
        tokenizer: saved beside the weights.
        info: a dict for `training_info.json`.
    """
    path = os.path.join(directory, f"best-{step}")
    temporary = f"{path}.tmp"
    storage.remove_folder(temporary)
    model.save_pretrained(temporary, tokenizer, info)
    storage.replace_folder(temporary, path)
    for other in storage.matching(directory, "best-*"):
        if other != path:
            storage.remove_folder(other)
