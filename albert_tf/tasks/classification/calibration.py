"""Probabilities that fit a dev set: a temperature, and thresholds of several labels."""

import dataclasses

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from albert_tf.tasks import metrics
from albert_tf.tasks.classification.text_task import Labelled

_HOTTEST = 20.0  # a temperature; the coldest is its inverse
_HALVINGS = 60  # of its logarithm's range, down to float64's precision


def check_calibrated(model, task):
    """Refuses a task without probabilities, and a model (or None) with exit heads."""
    if not isinstance(task, Labelled):
        raise UserError(
            f"Calibration is of the probabilities of labels, but the task {task.name} "
            "predicts numbers; leave it out."
        )
    if getattr(model, "exit_heads", None):
        raise UserError(
            "Texts leave this model early by the probabilities of before; load it with "
            "exit_heads=None to calibrate its answers at full depth."
        )


def calibrate(model, task, labels, outputs):
    """Divides a model's outputs by their temperature, and chooses the thresholds.

    The temperature goes into the weights of the linear head, so that every form of the
    model has it: exports, other libraries' files and what is trained from it.

    Args:
        model: the `PretrainedModel`; it is changed.
        task: its `Labelled` task.
        labels: the right ones, as the task's `parse_label` makes them.
        outputs: the model's, float32 `[N, labels]`.

    Returns:
        The task with its thresholds, and a dict for `training_info.json`.
    """
    temperature = fitted_temperature(labels, outputs)
    for variable in model.classifier.weights:
        variable.assign(variable / temperature)
    before, after = (
        task.probabilities(np.float64(outputs) / divisor)
        for divisor in (1.0, temperature)
    )
    if labels.ndim == 2:
        thresholds = best_thresholds(labels, np.float32(after))
        task = dataclasses.replace(task, thresholds=thresholds)
    return task, {
        "temperature": temperature,
        "calibration_error_before": metrics.calibration_error(labels, before),
        "calibration_error": metrics.calibration_error(labels, after),
    }


def fitted_temperature(labels, logits):
    """Finds the divisor of logits with the lowest cross-entropy.

    Guo et al., arXiv 1706.04599, section 4.2. The loss is convex in the inverse of the
    temperature, whose derivative a bisection brings to zero.

    Args:
        labels: int `[N]`, or `[N, L]` of 0 and 1.
        logits: `[N, L]`.

    Returns:
        A float; 1 where no temperature is the best, since all rows are predicted right
        or the logits say nothing.
    """
    logits = np.float64(logits)
    expected = np.float64(labels)
    if labels.ndim == 1:
        expected = np.eye(logits.shape[1])[labels]  # [N] -> [N, L]

    def is_too_hot(log):
        scaled = logits / np.exp(log)
        one = metrics.softmax if labels.ndim == 1 else _sigmoid
        return np.sum((one(scaled) - expected) * logits) < 0

    cold, hot = -np.log(_HOTTEST), np.log(_HOTTEST)
    if is_too_hot(cold) or not is_too_hot(hot):
        logging.warning(
            "No temperature calibrates these %d rows, which are predicted all right "
            "or no better than by chance; probabilities stay as they are.",
            len(logits),
        )
        return 1.0
    for _ in range(_HALVINGS):
        middle = (cold + hot) / 2
        cold, hot = (cold, middle) if is_too_hot(middle) else (middle, hot)
    return float(np.exp(hot))


def _sigmoid(logits):
    return 0.5 + 0.5 * np.tanh(logits / 2)  # which does not overflow


def best_thresholds(labels, probabilities):
    """Chooses for each label the probability above which it applies, by its F1.

    Args:
        labels: int `[N, L]` of 0 and 1.
        probabilities: float32 `[N, L]`.

    Returns:
        A tuple of floats; 0.5 where no other threshold has a higher F1.
    """
    columns = zip(labels.T, probabilities.T, strict=True)
    return tuple(_best_threshold(has, shares) for has, shares in columns)


def _best_threshold(has, shares):
    order = np.argsort(-shares, kind="stable")
    ranked = np.append(shares[order], np.float32(0))
    counts = np.arange(1, len(shares) + 1)  # of rows above a threshold
    scores = 2 * np.cumsum(has[order]) / (counts + has.sum())
    scores[ranked[:-1] == ranked[1:]] = 0  # no threshold divides equal probabilities
    best = int(scores.argmax())
    if scores[best] <= metrics.f1(has, shares > 0.5):
        return 0.5
    above, below = ranked[best : best + 2]
    middle = (above + below) / 2
    return float(middle if middle < above else below)
