"""Arguments of Keras' `fit` beside labels: weights, and a share that is held out."""

import dataclasses
import math

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.classification.labels import by_name
from albert_tf.tokenization.features import elements


def training_and_held_out(
    task, examples, validation_split=0.0, sample_weight=None, class_weight=None
):
    """Makes weighted examples: a part to learn from, a part to evaluate on, or None.

    Args:
        task: a `TextTask`.
        examples: labelled `TokenizedExamples`.
        validation_split: the share to evaluate on, the last ones; 0 for none.
        sample_weight: a number for each example, the weight of its loss.
        class_weight: a dict of numbers by the name or the number of a label; 1 for
            others. As in Keras, it counts in training only.

    Raises:
        UserError: the share leaves no example on one side, or the weights are no
            numbers of 0 or more, or do not fit.
    """
    weights, held_out, count = None, None, len(examples)
    if sample_weight is not None:
        weights = _sample_weights(sample_weight, count)
    if validation_split:
        count = _examples_before(validation_split, count)
        rows = np.arange(count, len(examples))
        held_out = dataclasses.replace(examples, weights=weights).take(rows)
    if class_weight is not None:
        of_texts = _weights_of_labels(task, class_weight)[examples.labels]
        weights = of_texts if weights is None else weights * of_texts
    weighted = dataclasses.replace(examples, weights=weights)
    return weighted.take(np.arange(count)), held_out


def _examples_before(share, count):
    kept = math.floor(count * (1 - share)) if 0 < share < 1 else 0
    if not kept:
        raise UserError(
            f"validation_split={share!r} of {count} texts leaves none to learn from or "
            "none to evaluate on; expected a share between 0 and 1."
        )
    return kept


def _sample_weights(values, count):
    weights = _weights("sample_weight", elements("sample_weight", values))
    if weights.shape != (count,):
        raise UserError(
            f"sample_weight must be a number for each of {count} texts, got the shape "
            f"{list(weights.shape)}."
        )
    return weights


def _weights_of_labels(task, class_weight):
    if task.kind != "single_label":
        raise UserError(
            "class_weight is of texts that have one label each; give sample_weight, a "
            "number for each text."
        )
    try:
        ids = [task.label_id(by_name(name, task.labels)) for name in class_weight]
        given = _weights("class_weight", [*class_weight.values()])
    except UserError:
        raise
    except (TypeError, AttributeError, ValueError) as error:
        raise UserError(f"class_weight={class_weight!r}: {error}.") from error
    weights = np.ones(len(task.labels), np.float32)
    weights[ids] = given
    return weights


def _weights(name, values):
    try:
        weights = np.array(values, np.float32)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} must be numbers, got {values!r}.") from error
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise UserError(f"{name} must be numbers of 0 or more, got {values!r}.")
    return weights
