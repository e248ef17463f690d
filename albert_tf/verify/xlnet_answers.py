"""Recordings of XLNet's head that says whether there is an answer.

A folder is known by its checkpoint of Hugging Face's `XLNetForQuestionAnswering`.
`inputs.npz` holds `input_ids`, `attention_mask`, `token_type_ids`, `p_mask` `[batch,
tokens]`, `start_positions`, `end_positions`, `is_impossible` and `cls_index`, which is
the last token of each row. `expected.npz` may hold

    hidden              embeddings and each layer, [layers + 1, batch, tokens, hidden]
    train/…             start_logits, end_logits, cls_logits, with the true start;
                        start_loss, end_loss, cls_loss, loss
    train_no_cls/loss, train_no_p_mask/loss
                        without is_impossible, without p_mask
    beam/…, beam_no_p_mask/…
                        start_top_log_probs, start_top_index [batch, starts],
                        end_top_log_probs, end_top_index [batch, ends * starts], and
                        cls_logits; the "log_probs" are probabilities
    grad/<name>         of train/loss, by Hugging Face's names
"""

import os

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.errors import UserError
from albert_tf.families.xlnet import XLNET
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.models.xlnet.question_answering import XLNetForQuestionAnswering
from albert_tf.verify.recordings import Compared
from albert_tf.verify.recordings import model_with_head

_FEATURES = ("input_ids", "attention_mask", "token_type_ids", "p_mask")
_NEEDED = (*_FEATURES, "start_positions", "end_positions", "is_impossible")
_LOG_PROBS = ("start_top_log_probs", "end_top_log_probs")


def knows(directory):
    """Returns whether a folder holds such a model of Hugging Face's."""
    if not is_huggingface_directory(directory):
        return False
    entries = read_json_object(os.path.join(directory, CONFIG_FILE))
    return "XLNetForQuestionAnswering" in architectures(entries)


def compare(directory, vocabulary=None):
    """Yields the `Compared` of the folder, which `knows` knows.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    inputs = read_arrays(os.path.join(directory, "inputs.npz"))
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    for name in _NEEDED:
        if name not in inputs:
            raise UserError(f"{directory}/inputs.npz lacks {name}.")
    checkpoint = read_checkpoint(directory)
    told = checkpoint.head_arguments(XLNetForQuestionAnswering)
    model = model_with_head(checkpoint, XLNetForQuestionAnswering, told)
    features = {name: tf.constant(inputs[name]) for name in _FEATURES}
    bare = {**features, "p_mask": tf.zeros_like(features["p_mask"])}
    found = {
        "hidden": _hidden(model, features),
        **_named("beam/", _beams(model, features)),
        **_named("beam_no_p_mask/", _beams(model, bare)),
        **_named("train_no_p_mask/", _training(model, bare, inputs)[0]),
    }
    with tf.GradientTape() as tape:
        training, without_class = _training(model, features, inputs)
    found |= {**_named("train/", training), "train_no_cls/loss": without_class}
    variables = model.official_variables()
    gradients = tape.gradient(training["loss"], list(variables.values()))
    arrays = {
        name: np.array(tf.convert_to_tensor(gradient))
        for name, gradient in zip(variables, gradients, strict=True)
        if gradient is not None
    }
    # A gradient changes shape as its variable does.
    _, theirs = XLNET.to_huggingface(model.config, arrays, model.head_names())
    found |= _named("grad/", theirs)
    yield Compared("", found, _comparable(found, expected))


def _named(prefix, values):
    return {prefix + name: value for name, value in values.items()}


def _hidden(model, features):
    encoded = model.transformer(features)
    return tf.stack([encoded["embedding_output"], *encoded["hidden_states"]])


def _beams(model, features):
    """Returns the beams in their order: all the best ends, then all the second best."""
    outputs = model(features)
    grid = (-1, *outputs["start_top_index"].shape[1:], model.head_config()["end_n_top"])
    for name in ("end_top_log_probs", "end_top_index"):
        by_start = tf.transpose(tf.reshape(outputs[name], grid), (0, 2, 1))
        outputs[name] = tf.reshape(by_start, outputs[name].shape)
    return {**outputs, **{name: tf.exp(outputs[name]) for name in _LOG_PROBS}}


def _training(model, features, inputs):
    """Returns the outputs and losses with the true start, and the loss without class.

    Logits are log-probabilities: both differ by a number for each row.
    """
    starts = inputs["start_positions"]
    outputs = model({**features, "start_positions": starts})
    logits = {f"{end}_logits": outputs[f"{end}_log_probs"] for end in ("start", "end")}
    losses = {
        f"{end}_loss": -tf.reduce_mean(
            tf.gather(
                outputs[f"{end}_log_probs"], inputs[f"{end}_positions"], batch_dims=1
            )
        )
        for end in ("start", "end")
    }
    losses["cls_loss"] = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(
            tf.constant(inputs["is_impossible"], tf.float32), outputs["cls_logits"]
        )
    )
    spans = (losses["start_loss"] + losses["end_loss"]) / 2
    loss = spans + 0.5 * losses["cls_loss"]
    cls = {"cls_logits": outputs["cls_logits"]}
    return {**logits, **cls, **losses, "loss": loss}, spans


def _comparable(found, expected):
    """Returns expected arrays in which log-probabilities stand in place of logits.

    Beside -1e30 for what is masked, any other deviation would be nothing: these places
    become 0, of both.
    """
    expected = dict(expected)
    for name in ("train/start_logits", "train/end_logits"):
        if name in expected:
            log_probs = tf.nn.log_softmax(expected[name]).numpy()
            ours = np.array(found[name])
            masked = (ours < -1e29) & (log_probs < -1e29)
            found[name] = np.where(masked, 0, ours)
            expected[name] = np.where(masked, 0, log_probs)
    return expected
