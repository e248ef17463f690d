"""Recorded heads, against heads of this project with the same weights."""

import os

import numpy as np
import tensorflow as tf

from albert_tf.io import storage
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective
from albert_tf.verify.heads import loss_and_gradients
from albert_tf.verify.heads import model_with_head

_FEATURES = ("input_ids", "input_mask", "segment_ids", "p_mask")
_LABELS = ("start_positions", "end_positions", "is_impossible")
_MASKED = -1e29


def knows(inputs):
    """Returns whether the arrays are windows with answers."""
    return all(name in inputs for name in (*_FEATURES, *_LABELS))


def compare(directory, inputs):
    """Computes outputs, loss and gradients anew.

    Args:
        directory: holds the checkpoint, `expected.npz` and perhaps `head.json`.
        inputs: dict of the features and labels.

    Returns:
        Found and expected values, dicts of arrays by name.

    Raises:
        UserError: a file is missing, or the checkpoint has no such head.
    """
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    version = 1 if "start_logits" in expected else 2
    model = _model(directory, version)
    batch = {name: tf.constant(inputs[name]) for name in _FEATURES}
    found = dict(model(batch))
    found["sequence_output"] = model.albert(batch)["sequence_output"]
    labels = [inputs[name] for name in _LABELS]
    if version == 2:
        found |= model({**batch, "start_positions": inputs["start_positions"]})
    objective = QuestionAnsweringObjective(version, counts_padding=True)
    batch["labels"] = tf.stack(labels, axis=1)
    found |= loss_and_gradients(model, objective, batch)
    for name, theirs in expected.items():
        ours = found.get(name)
        if ours is not None and "log_probs" in name and ours.shape == theirs.shape:
            # Beside -1e30 for what is masked, any other deviation would be nothing.
            masked = (np.array(ours) < _MASKED) & (theirs < _MASKED)
            found[name] = np.where(masked, 0, ours)
            expected[name] = np.where(masked, 0, theirs)
    return found, expected


def _model(directory, version):
    arguments = {}
    path = os.path.join(directory, "head.json")
    if version == 2 and storage.exists(path):
        facts = read_json_object(path)
        arguments = {name: facts[name] for name in ("start_n_top", "end_n_top")}
    model_class = (AlbertForQuestionAnswering, AlbertForAnswerableQuestions)[
        version - 1
    ]
    return model_with_head(directory, model_class, arguments)
