"""Recordings of multiple choice: features of articles, and a head.

A folder is recognised by its files:

    features_ROLE.npz and .json, with "endings"            features of RACE's ROLE set,
        of the articles in each folder beside them that holds one called RACE
    inputs.npz with is_real_example, expected.npz, a checkpoint         a head

Texts, ids and labels are compared one by one: 1 where two differ, otherwise 0.
"""

import os
import pathlib

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.multiple_choice.questions import race_parts
from albert_tf.tasks.multiple_choice.questions import read_questions
from albert_tf.tasks.multiple_choice.rows import ending
from albert_tf.tasks.multiple_choice.task import MultipleChoice
from tools.verify.recordings import Compared
from tools.verify.recordings import loss_and_gradients
from tools.verify.recordings import model_with_head
from tools.verify.recordings import names_in
from tools.verify.recordings import read_arrays
from tools.verify.recordings import read_recording
from tools.verify.recordings import require_names
from tools.verify.recordings import tokenizer_of

_INPUTS, _REAL = "inputs.npz", "is_real_example"
_FACTS = ("max_seq_length", "max_qa_length", "do_lower_case", "endings")
_TEXTS = ("example_id", "question", "context")


def knows(directory):
    """Returns whether a folder holds recordings of multiple choice."""
    names = names_in(directory)
    if names:
        return "endings" in read_json_object(_features(directory, names[0], "json"))
    path = os.path.join(directory, _INPUTS)
    return os.path.exists(path) and _REAL in read_arrays(path)


def compare(directory, vocabulary=None):
    """Yields a `Compared` for each recording in a folder, which `knows` knows."""
    names = names_in(directory)
    for articles in sorted(p.parent for p in pathlib.Path(directory).rglob("RACE")):
        for role in names:
            prefix = f"{articles.relative_to(directory)}/features_{role}/"
            arrays = _compare_features(directory, role, articles, vocabulary)
            yield Compared(prefix, *arrays)
    heads = sorted(os.listdir(directory)) if names else [""]
    for name in heads:
        folder = os.path.join(directory, name)
        if os.path.exists(os.path.join(folder, _INPUTS)):
            yield Compared(f"{name}/" if name else "", *_compare_head(folder))


def _features(directory, role, suffix):
    return os.path.join(directory, f"features_{role}.{suffix}")


def _compare_features(directory, role, articles, vocabulary):
    path = _features(directory, role, "json")
    facts = read_json_object(path)
    require_names(path, facts, (*_FACTS, *_TEXTS))
    parts = race_parts(articles, role)
    if not parts:
        raise UserError(f"{articles} has no {role} set, whose features {path} holds.")
    tokenizer = tokenizer_of(directory, vocabulary, facts["do_lower_case"])
    task = MultipleChoice(name="race", max_qa_length=facts["max_qa_length"])
    examples = read_questions(parts)
    length, count = facts["max_seq_length"], len(examples)
    tokens = task.tokenize(examples, tokenizer, length)
    batch = next(iter(evaluation_dataset(tokens, count, length, True)))
    found = {name: batch[name].numpy() for name in FEATURES}
    found["label_ids"] = examples.labels
    expected = read_arrays(_features(directory, role, "npz"))
    found["texts"], expected["texts"] = _texts(examples, tokenizer, facts)
    return found, expected


def _texts(examples, tokenizer, facts):
    """Counts the questions, and those with the recorded texts; expected."""
    texts = [
        [
            question.id,
            tokenizer.prepare(question.context),
            [ending(question.text, o, tokenizer) for o in question.options],
        ]
        for question in examples.questions
    ]
    recorded = [
        [f"{identity}-{number}", context, endings]
        for identity, number, context, endings in zip(
            *(facts[name] for name in (*_TEXTS, "endings")), strict=True
        )
    ]
    same = sum(ours == theirs for ours, theirs in zip(texts, recorded, strict=False))
    return np.array([len(texts), same]), np.array([len(recorded)] * 2)


def _compare_head(directory):
    inputs, expected = read_recording(directory)
    shape = (*expected["logits"].shape, -1)  # [B, C, T]
    model = model_with_head(directory, AlbertForMultipleChoice, {})
    batch = {name: tf.constant(inputs[name].reshape(shape)) for name in FEATURES}
    batch["labels"] = tf.constant(inputs["label_ids"])
    task = MultipleChoice(name="race")
    objective = task.objective()
    logits = model({name: batch[name] for name in FEATURES})
    real = tf.constant(inputs[_REAL], tf.float32)  # [B]
    real_rows = {**batch, EXAMPLE_WEIGHTS: real}
    losses, metrics = objective(model, real_rows, training=False, dropout_seed=None)
    right, weight = metrics["accuracy"]
    numbers = task.chosen(task.numbers(logits))
    found = {
        "logits": logits,
        "probabilities": numbers["probabilities"],
        # The prediction of the row that pads the batch means nothing.
        "predictions": np.where(real, numbers["choice"], expected["predictions"]),
        "per_example_loss": task.losses(logits, batch["labels"]),
        "eval_accuracy": right / weight,
        "eval_loss": sum(losses.values()) / weight,
        **loss_and_gradients(model, objective, batch),
    }
    return found, expected
