"""Recordings of models of Hugging Face's: hidden states, logits, losses, gradients.

A folder is known by its checkpoint, of RoBERTa or of XLNet with a head for a task,
whose `config.json` also says which model it is of.
`inputs.npz` holds `input_ids` and `attention_mask` `[batch, tokens]` and labels under
Hugging Face's names; `odd/…` are inputs of a call of their own. `expected.npz` may hold

    hidden              embeddings and each layer, [layers + 1, batch, tokens, hidden]
    logits, or start_logits and end_logits
    loss                the mean
    token_loss          of labels of tokens, 0 without label
    grad/<name>         of the loss, by Hugging Face's names
    odd/…               of the other call
"""

import os

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.roberta import family_that_writes
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.verify.recordings import Compared

_FEATURES = ("input_ids", "attention_mask", "token_type_ids")
_ODD = "odd/"
_NO_LABEL = -100
_XLNET_HEADS = (
    "XLNetForMultipleChoice",
    "XLNetForQuestionAnsweringSimple",
    "XLNetForTokenClassification",
)


def knows(directory):
    """Returns whether a folder holds such a model of Hugging Face's."""
    if not is_huggingface_directory(directory):
        return False
    entries = read_json_object(os.path.join(directory, CONFIG_FILE))
    names = architectures(entries)
    is_head = any(name in _XLNET_HEADS for name in names)
    return entries.get("model_type") == "roberta" or is_head


def compare(directory, vocabulary=None):
    """Yields the `Compared` of the folder, which `knows` knows.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    inputs = read_arrays(os.path.join(directory, "inputs.npz"))
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    if "input_ids" not in inputs:
        raise UserError(f"{directory}/inputs.npz lacks input_ids.")
    checkpoint = read_checkpoint(directory)
    names = architectures(checkpoint.huggingface)
    model_class = registry.recognise(checkpoint.tensors, checkpoint.family, names)
    arguments = checkpoint.head_arguments(model_class)
    model = build_model(model_class, checkpoint, (), arguments)
    found = _outputs(model, _features(inputs, ""))
    if f"{_ODD}input_ids" in inputs:
        odd = _outputs(model, _features(inputs, _ODD))
        found |= {_ODD + name: value for name, value in odd.items()}
    found |= _losses_and_gradients(model, inputs)
    yield Compared("", found, expected)


def _features(inputs, prefix):
    names = [name for name in _FEATURES if prefix + name in inputs]
    return {name: tf.constant(inputs[prefix + name]) for name in names}


def _outputs(model, features):
    outputs = _named(model(features))
    rows = features
    if model.feature_axes == 3:
        rows = {n: tf.reshape(v, (-1, v.shape[-1])) for n, v in features.items()}
    encoded = model.encoder()(rows)
    hidden = tf.stack([encoded["embedding_output"], *encoded["hidden_states"]])
    return {"hidden": hidden, **outputs}


def _named(outputs):
    return outputs if isinstance(outputs, dict) else {"logits": outputs}


def _losses_and_gradients(model, inputs):
    """Computes losses, and gradients by Hugging Face's names; none without labels."""
    if not {"labels", "start_positions", "end_positions"} & inputs.keys():
        return {}
    with tf.GradientTape() as tape:
        outputs = _named(model(_features(inputs, "")))
        losses = _losses(outputs, inputs)
    variables = model.official_variables()
    gradients = tape.gradient(losses["loss"], list(variables.values()))
    arrays = {
        name: np.array(tf.convert_to_tensor(gradient))
        for name, gradient in zip(variables, gradients, strict=True)
        if gradient is not None
    }
    # A gradient changes shape as its variable does.
    _, theirs = family_that_writes(model).to_huggingface(
        model.config, arrays, model.head_names(), model.huggingface_architecture()
    )
    return {**losses, **{f"grad/{name}": value for name, value in theirs.items()}}


def _losses(outputs, inputs):
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    if "start_logits" in outputs:
        ends = [
            tf.reduce_mean(
                cross_entropy(inputs[f"{end}_positions"], outputs[f"{end}_logits"])
            )
            for end in ("start", "end")
        ]
        return {"loss": (ends[0] + ends[1]) / 2}
    labels, logits = tf.constant(inputs["labels"]), outputs["logits"]
    counts = labels != _NO_LABEL
    losses = cross_entropy(tf.where(counts, labels, 0), logits)
    losses = tf.where(counts, losses, 0.0)
    mean = tf.reduce_sum(losses) / tf.reduce_sum(tf.cast(counts, tf.float32))
    return {"loss": mean, "token_loss": losses}
