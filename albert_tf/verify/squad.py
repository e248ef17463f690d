"""Recordings of reading comprehension: windows, heads and answers.

A folder is known by its files:

    features_NAME.npz and .json, NAME_dev.json, NAME_train.json   windows
    inputs.npz with start_positions, expected.npz, a checkpoint   a head
    inputs.npz with scores, predictions.json                      answers, of the
        windows features_NAME beside the folder answers_NAME_as_vN

A folder that has windows is compared with all such folders in it. Texts, ids and
positions are compared one by one: 1 where two differ, otherwise 0. Where recorded spans
do not match their pieces, ours may be better; they are counted.
"""

import os

import numpy as np
import tensorflow as tf

from albert_tf.io import storage
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective
from albert_tf.verify import squad_answers
from albert_tf.verify import squad_windows
from albert_tf.verify.heads import loss_and_gradients
from albert_tf.verify.heads import model_with_head
from albert_tf.verify.recordings import Compared
from albert_tf.verify.recordings import names_in
from albert_tf.verify.recordings import read_windows
from albert_tf.verify.recordings import tokenizer_of

_INPUTS = "inputs.npz"
_FEATURES = ("input_ids", "input_mask", "segment_ids", "p_mask")
_LABELS = ("start_positions", "end_positions", "is_impossible")
_MASKED = -1e29


def compare(directory, vocabulary=None):
    """Yields a `Compared` for each recording in a folder; none if it holds no such.

    Args:
        directory: the folder.
        vocabulary: see `recordings.tokenizer_of`.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    names = names_in(directory)
    for name in names:
        recorded = read_windows(directory, name)
        tokenizer = tokenizer_of(directory, vocabulary, recorded.do_lower_case)
        compared = squad_windows.compare(recorded, tokenizer)
        yield Compared(f"features_{name}/", *compared)
    if not names:
        yield from _compare_folder(directory, "")
        return
    for inner in sorted(os.listdir(directory)):
        yield from _compare_folder(os.path.join(directory, inner), f"{inner}/")


def _compare_folder(directory, prefix):
    path = os.path.join(directory, _INPUTS)
    if not os.path.exists(path):
        return
    inputs = read_arrays(path)
    if squad_answers.knows(inputs):
        yield Compared(prefix, *squad_answers.compare(directory, inputs))
    elif _has_answers(inputs):
        yield Compared(prefix, *_compare_head(directory, inputs))


def _has_answers(inputs):
    """Returns whether the arrays are windows with answers."""
    return all(name in inputs for name in (*_FEATURES, *_LABELS))


def _compare_head(directory, inputs):
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
    model = _head_model(directory, version)
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


def _head_model(directory, version):
    arguments = {}
    path = os.path.join(directory, "head.json")
    if version == 2 and storage.exists(path):
        facts = read_json_object(path)
        arguments = {name: facts[name] for name in ("start_n_top", "end_n_top")}
    model_class = (AlbertForQuestionAnswering, AlbertForAnswerableQuestions)[
        version - 1
    ]
    return model_with_head(directory, model_class, arguments)
