"""Answers of rows that leave early, scored beside those at full depth."""

import numpy as np

from albert_tf.layers.exits import first_state
from albert_tf.layers.exits import leaving


def all_layers(model):
    """Returns the arguments of a call for the logits of all exit heads, if any."""
    return {"all_layers": True} if getattr(model, "exit_heads", None) else {}


def depths(task, prepared, outputs, model):
    """Returns the outputs at full depth, and scores of the early ones.

    Args:
        task: the `Task`.
        prepared: the `Prepared` examples.
        outputs: of `OutputsPredictor`; with exit heads `[rows, layers, outputs]`.
        model: the model that they are of.

    Returns:
        `[rows, outputs]`; and a dict: `exit_<metric>`, as the model's rule lets rows
        leave, and `exit_layer`, the mean of the layers taken. It is empty without a
        rule or labels.
    """
    if not all_layers(model):
        return outputs, {}
    full = outputs[:, -1]
    if model.exit_rule is None or prepared.tokens.labels is None:
        return full, {}
    return full, early_scores(task, prepared, outputs, model.exit_rule, model.exit_kind)


def early_scores(task, prepared, outputs, rule, kind):
    """Computes `task.metrics` where rows leave by a rule; arguments as of `depths`.

    Args:
        rule: an `ExitRule`.
        kind: as of `exits.leaving`.
    """
    layers = exit_layers(outputs, rule, kind)
    early = outputs[np.arange(len(outputs)), layers - 1]
    scores = task.score(prepared, task.interpret(prepared, early))
    named = {f"exit_{metric}": scores[metric] for metric in task.metrics}
    return {**named, "exit_layer": float(layers.mean())}


def exit_layers(outputs, rule, kind):
    """Computes after how many layers each row leaves.

    Args:
        outputs: float32 `[rows, layers, outputs]`.
        rule: an `ExitRule`.
        kind: as of `exits.leaving`.

    Returns:
        int64 `[rows]`, from 1.
    """
    state, found = first_state(outputs[:, 0], kind), []
    for layer in range(outputs.shape[1]):
        leaves, state = leaving(outputs[:, layer], state, rule, kind)
        found.append(np.array(leaves))
    found[-1][:] = True
    return np.argmax(found, axis=0) + 1
