"""Recordings of XLNet: both streams, memories over chained calls, gradients, training.

A folder is known by its checkpoint. `inputs.npz` of a language model holds segments of
the same rows, `[segments, batch, ...]`, under Hugging Face's names (`input_ids`,
`token_type_ids`, `labels`) or the official ones (`input_k`, `seg_id`, `target`), with
`perm_mask` and a one-hot `target_mapping`; `padded/`, `plain/` and `bare/` are calls of
their own. `expected.npz` may hold, with START "none" (no memory before the first
segment) or "zeros":

    START/step<t>/logits, loss, token_loss, mems, hidden_h, hidden_g
    padded/…, plain/hidden, plain/mems, bare/…
    grad/<name>, grad_none/<name>       of the loss zeros/step1, none/step0
    train_losses, train_learning_rates, train_gradient_norms, after/<name>
                                        of the steps of `train.json`

and of a classifier hidden, summary, logits, probabilities, example_loss, loss and
grad/<name>. Names are the checkpoint's.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.errors import UserError
from albert_tf.families.xlnet import XLNET
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.models.xlnet.fine_tuned import XLNetForSequenceClassification
from albert_tf.models.xlnet.language_model import XLNetLMHeadModel
from albert_tf.verify import training_steps
from albert_tf.verify.recordings import Compared

_RUN_FILE = "run_config.json"
_OF_RUN = ("mem_len", "reuse_len", "clamp_len", "bi_data")
# Adam makes the noise of small gradients as large as the rate.
_WEIGHTS_LIMIT = 1e-5
_SINGLE_CALLS = ("padded/", "plain/", "bare/")


def knows(directory):
    """Returns whether a folder holds an XLNet."""
    if os.path.exists(os.path.join(directory, XLNET.config_file)):
        return True
    path = os.path.join(directory, CONFIG_FILE)
    is_theirs = is_huggingface_directory(directory)
    return is_theirs and read_json_object(path).get("model_type") == "xlnet"


def compare(directory, vocabulary=None):
    """Yields the `Compared` of the folder, which `knows` knows.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    inputs = read_arrays(os.path.join(directory, "inputs.npz"))
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    checkpoint = read_checkpoint(directory)
    run = os.path.join(directory, _RUN_FILE)
    if os.path.exists(run):
        facts = read_json_object(run)
        facts = {name: facts[name] for name in _OF_RUN if name in facts}
        config = dataclasses.replace(checkpoint.config, **facts)
        checkpoint = dataclasses.replace(checkpoint, config=config)
    _check(inputs, "summary" in expected, directory)
    if "summary" in expected:
        found = _classifier(checkpoint, inputs)
    else:
        found = _language_model(checkpoint, inputs, expected, directory)
    yield Compared("", found, expected, weights_limit=_WEIGHTS_LIMIT)


def _check(inputs, is_classifier, directory):
    needed = [("input_ids", "input_k"), ("labels", "target")]
    if not is_classifier:
        needed += [("perm_mask",), ("target_mapping",)]
    for names in needed:
        if not any(name in inputs for name in names):
            raise UserError(f"{directory}/inputs.npz lacks {' or '.join(names)}.")


def _language_model(checkpoint, inputs, expected, directory):
    model = build_model(XLNetLMHeadModel, checkpoint, (), {})
    segments = training_steps.segments(inputs)
    found = {}
    for start in ("none", "zeros"):
        memories = None
        if start == "zeros":
            memories = model.transformer.first_memories(len(segments[0]["input_ids"]))
        for t, segment in enumerate(segments):
            step = f"{start}/step{t}/"
            if not _starts(expected, step):
                break
            batch = {**segment, "memories": memories}
            outputs, memories = _outputs(model, batch, f"{step}hidden_h" in expected)
            found |= {step + name: value for name, value in outputs.items()}
            prefix = {("zeros", 1): "grad/", ("none", 0): "grad_none/"}.get((start, t))
            if prefix and _starts(expected, prefix):
                gradients = training_steps.loss_and_gradients(model, batch)[1]
                found |= _named(model, checkpoint, gradients, prefix)
    for prefix in _SINGLE_CALLS:
        if _starts(expected, prefix):
            found |= _single_call(model, inputs, prefix)
    if "train_losses" in expected:
        path = os.path.join(directory, "train.json")
        found |= training_steps.trained(model, segments, read_json_object(path), path)
    return found


def _single_call(model, inputs, prefix):
    """Returns a call without memory; `bare/` has the tokens of `plain/` alone."""
    source = "plain/" if prefix == "bare/" else prefix
    own = {
        name.removeprefix(source): value
        for name, value in inputs.items()
        if name.startswith(source)
    }
    if not own:
        return {}
    if prefix == "bare/":
        own = {"input_ids": own["input_ids"]}
    if "target_mapping" in own:
        outputs, _ = _outputs(model, training_steps.with_targets(own))
    else:
        outputs = _one_stream(model, own)
    return {prefix + name: value for name, value in outputs.items()}


def _outputs(model, batch, with_streams=True):
    """Returns the outputs of a call with predictions, in the shapes of the recordings.

    Returns:
        The outputs, and the memories for the next call; None if there are none.
    """
    features = training_steps.features(batch)
    outputs = model(features)
    loss, token_loss = training_steps.losses(outputs["logits"], batch)
    found = {
        "logits": outputs["logits"],
        "loss": loss,
        "token_loss": token_loss,
        **_memories(outputs),
    }
    if with_streams:
        encoded = model.transformer(features)
        query = encoded["query_hidden_states"]
        first = tf.broadcast_to(model.transformer.embeddings.mask_emb, query[0].shape)
        found["hidden_h"] = _hidden(encoded)
        found["hidden_g"] = tf.stack([first, *query])
    return found, outputs.get("memories")


def _one_stream(model, features):
    encoded = model.transformer(features)
    return {"hidden": _hidden(encoded), **_memories(encoded)}


def _hidden(encoded):
    return tf.stack([encoded["embedding_output"], *encoded["hidden_states"]])


def _memories(outputs):
    if "memories" not in outputs:
        return {}
    return {"mems": tf.transpose(outputs["memories"], (1, 2, 0, 3))}


def _starts(names, prefix):
    return any(name.startswith(prefix) for name in names)


def _classifier(checkpoint, inputs):
    arguments = checkpoint.head_arguments(XLNetForSequenceClassification)
    model = build_model(XLNetForSequenceClassification, checkpoint, (), arguments)
    features = {n: value for n, value in inputs.items() if n != "labels"}
    encoded = model.transformer(features)
    with tf.GradientTape() as tape:
        logits = model(features)
        example_loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
            inputs["labels"], logits
        )
        loss = tf.reduce_mean(example_loss)
    gradients = training_steps.gradients_of(tape, loss, model)
    return {
        "hidden": _hidden(encoded),
        "summary": model.summarize(encoded["sequence_output"][:, -1]),
        "logits": logits,
        "probabilities": tf.nn.softmax(logits),
        "example_loss": example_loss,
        "loss": loss,
        **_named(model, checkpoint, gradients, "grad/"),
    }


def _named(model, checkpoint, gradients, prefix):
    """Returns gradients by the names of the checkpoint."""
    if checkpoint.huggingface:
        arrays = {name: np.array(value) for name, value in gradients.items()}
        # A gradient changes shape as its variable does.
        _, gradients = XLNET.to_huggingface(model.config, arrays, model.head_names())
    return {prefix + name: value for name, value in gradients.items()}
