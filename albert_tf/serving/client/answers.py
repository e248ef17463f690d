"""The served outputs of one input to what a `Predictor` returns for it."""

import functools

import numpy as np

from albert_tf.errors import UserError
from albert_tf.serving.heads.naming import outputs_of
from albert_tf.tasks.registry import task_of


def answer_form(facts):
    """The function from the outputs of one input to its answer.

    Args:
        facts: what `signature.json` of an export says; {} without it.

    Returns:
        A function of a dict of str, float, int, arrays of numbers and nested lists of
        str. Outputs of a form that this version does not know stay as they are.
    """
    serves = facts.get("serves")
    if "tasks" in facts:
        tasks = {
            name: _task({"task": fields}) for name, fields in facts["tasks"].items()
        }
        return functools.partial(_answer_of_heads, tasks)
    task = _task(facts)
    if task is not None and task.serves == serves:
        return task.answer
    return _FORMS.get(serves, _as_it_is)


def plain(value):
    """The outputs of one input as Python values, but for arrays of numbers."""
    if isinstance(value, str):
        return value
    return value.tolist() if value.dtype == object or value.ndim == 0 else value


def _task(facts):
    try:
        return task_of(facts, "the exported model")
    except UserError:  # a task of another version; its outputs are readable without it
        return None


def _as_it_is(outputs):
    return outputs


def _answer_of_heads(tasks, outputs):
    """By name of the head, its answer."""
    answers = {}
    for name, task in tasks.items():
        own = outputs_of(name, outputs)
        answers[name] = own if task is None else task.answer(own)
    return answers


def _vectors(outputs):
    """The vectors of an encoder, without those of padding."""
    tokens = int(np.sum(outputs["input_mask"]))
    return {
        "pooled_output": outputs["pooled_output"],
        "sequence_output": outputs["sequence_output"][:tokens],
        "input_ids": outputs["input_ids"][:tokens],
    }


def _guesses(outputs):
    """The guesses for each [MASK] of a masked language model."""
    columns = ("token", "token_id", "probability")
    names = ("tokens", "token_ids", "probabilities")
    masks = [
        [
            dict(zip(columns, (token, int(number), float(share)), strict=True))
            for token, number, share in zip(*of_mask, strict=True)
        ]
        for of_mask in zip(*(outputs[name] for name in names), strict=True)
    ]
    marks = np.flatnonzero(outputs["masked_lm_positions"])
    return {"masks": [masks[mark] for mark in marks]}


_FORMS = {"encoder": _vectors, "masked_lm": _guesses}
