"""Recordings of XLNet: both streams, memories over chained calls, gradients, training.

A folder is recognised by its checkpoint. `inputs.npz` of a language model holds
segments of the same rows, `[segments, batch, ...]`, under Hugging Face's names
(`input_ids`, `token_type_ids`, `labels`) or the official ones (`input_k`, `seg_id`,
`target`), with `perm_mask` and a one-hot `target_mapping`; `padded/`, `plain/` and
`bare/` are separate calls. `expected.npz` may hold, with START "none" (no memory before
the first segment) or "zeros":

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

from albert_tf import bundle
from albert_tf.bundle import build_model
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.optimizers.adam import AdamW
from albert_tf.xlnet.family import XLNET
from albert_tf.xlnet.heads import XLNetForSequenceClassification
from albert_tf.xlnet.model import XLNetLMHeadModel
from tools.verify.recordings import Compared
from tools.verify.recordings import gradients_of
from tools.verify.recordings import holds_any
from tools.verify.recordings import huggingface_entries
from tools.verify.recordings import in_huggingface
from tools.verify.recordings import prefixed
from tools.verify.recordings import read_recording
from tools.verify.recordings import require_inputs
from tools.verify.recordings import stacked_states

_RUN_FILE = "run_config.json"
_OF_RUN = ("mem_len", "reuse_len", "clamp_len", "bi_data")
# Adam makes the noise of small gradients as large as the rate.
_WEIGHTS_LIMIT = 1e-5
_NEEDED = (("input_ids", "input_k"), ("labels", "target"))
_OPTIMIZER, _DECAY = "AdamWeightDecayOptimizer", "poly"
_OFFICIAL_NAMES = {"input_k": "input_ids", "seg_id": "segment_ids", "target": "labels"}
_NO_FEATURES = ("labels", "label_weights")
_SINGLE_CALLS = ("padded/", "plain/", "bare/")


def knows(directory):
    """Returns whether a folder holds an XLNet."""
    is_ours = os.path.exists(os.path.join(directory, XLNET.config_file))
    return is_ours or huggingface_entries(directory).get("model_type") == "xlnet"


def compare(directory, vocabulary=None):
    """Yields the `Compared` of the folder, which `knows` knows."""
    inputs, expected = read_recording(directory, *_NEEDED)
    checkpoint = bundle.open(directory)
    run = os.path.join(directory, _RUN_FILE)
    if os.path.exists(run):
        facts = read_json_object(run)
        facts = {name: facts[name] for name in _OF_RUN if name in facts}
        config = dataclasses.replace(checkpoint.config, **facts)
        checkpoint = dataclasses.replace(checkpoint, config=config)
    if "summary" in expected:
        found = _classifier(checkpoint, inputs)
    else:
        require_inputs(directory, inputs, "perm_mask", "target_mapping")
        found = _language_model(checkpoint, inputs, expected, directory)
    yield Compared("", found, expected, weights_limit=_WEIGHTS_LIMIT)


def _language_model(checkpoint, inputs, expected, directory):
    model = build_model(XLNetLMHeadModel, checkpoint, (), {})
    segments = _segments(inputs)
    found = {}
    for start in ("none", "zeros"):
        memories = None
        if start == "zeros":
            memories = model.transformer.first_memories(len(segments[0]["input_ids"]))
        for t, segment in enumerate(segments):
            step = f"{start}/step{t}/"
            if not holds_any(expected, step):
                break
            batch = {**segment, "memories": memories}
            outputs, memories = _outputs(model, batch, f"{step}hidden_h" in expected)
            found |= prefixed(step, outputs)
            prefix = {("zeros", 1): "grad/", ("none", 0): "grad_none/"}.get((start, t))
            if prefix and holds_any(expected, prefix):
                gradients = _loss_and_gradients(model, batch)[1]
                found |= _named(model, checkpoint, gradients, prefix)
    for prefix in _SINGLE_CALLS:
        if holds_any(expected, prefix):
            found |= _single_call(model, inputs, prefix)
    if "train_losses" in expected:
        path = os.path.join(directory, "train.json")
        found |= trained(model, segments, read_json_object(path), path)
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
        outputs, _ = _outputs(model, _with_targets(own))
    else:
        encoded = model.transformer(own)
        outputs = {"hidden": stacked_states(encoded), **_memories(encoded)}
    return prefixed(prefix, outputs)


def _outputs(model, batch, with_streams=True):
    """Returns the outputs of a call with predictions, in the shapes of the recordings.

    Returns:
        The outputs, and the memories for the next call; None if there are none.
    """
    features = _features(batch)
    outputs = model(features)
    loss, token_loss = _losses(outputs["logits"], batch)
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
        found["hidden_h"] = stacked_states(encoded)
        found["hidden_g"] = tf.stack([first, *query])
    return found, outputs.get("memories")


def _memories(outputs):
    if "memories" not in outputs:
        return {}
    return {"mems": tf.transpose(outputs["memories"], (1, 2, 0, 3))}


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
    gradients = gradients_of(tape, loss, model)
    return {
        "hidden": stacked_states(encoded),
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
        gradients = in_huggingface(model, gradients)
    return prefixed(prefix, gradients)


def _segments(inputs):
    """Lists a recording's batches, one a segment: features, labels and weights."""
    own = {n: v for n, v in inputs.items() if "/" not in n}
    count = len(own["perm_mask"])
    return [_with_targets({n: v[t] for n, v in own.items()}) for t in range(count)]


def _with_targets(arrays):
    """Renames the recorded arrays of one call as this project names them."""
    batch = {_OFFICIAL_NAMES.get(name, name): value for name, value in arrays.items()}
    mapping = batch["target_mapping"]  # [B, P, S]
    predicts = mapping.sum(axis=-1) > 0
    positions = np.where(predicts, mapping.argmax(axis=-1), -1)
    labels = batch["labels"]
    weights = batch.get("target_mask", (labels >= 0).astype(np.float32))
    known = ("input_ids", "segment_ids", "token_type_ids", "attention_mask")
    return {
        **{name: batch[name] for name in (*known, "perm_mask") if name in batch},
        "target_positions": positions.astype(np.int32),
        "labels": np.maximum(labels, 0),
        "label_weights": weights,
    }


def _features(batch):
    """Selects the features of a batch that the model reads."""
    return {name: v for name, v in batch.items() if name not in _NO_FEATURES}


def _losses(logits, batch):
    """Computes the mean loss of real predictions, and each one's, 0 for padding."""
    weights = tf.cast(batch["label_weights"], tf.float32)
    token_loss = weights * tf.nn.sparse_softmax_cross_entropy_with_logits(
        batch["labels"], logits
    )
    return tf.reduce_sum(token_loss) / tf.reduce_sum(weights), token_loss


def _loss_and_gradients(model, batch):
    """Returns the mean loss, its gradients by official name, and the new memories."""
    with tf.GradientTape() as tape:
        outputs = model(_features(batch))
        loss, _ = _losses(outputs["logits"], batch)
    return loss, gradients_of(tape, loss, model), outputs["memories"]


def trained(model, batches, recipe, source):
    """Takes a step on each batch, with the memories of the previous batch.

    This changes the model's weights. `source` is the recipe's name in messages.

    Returns:
        A dict: `train_losses`, `train_learning_rates` and `train_gradient_norms`,
        float32 `[steps]`, and the weights as `after/<official name>`.

    Raises:
        UserError: the recipe lacks an entry, or names another optimizer.
    """
    try:
        told = (recipe["optimizer"], recipe["decay_method"])
        rates = [_learning_rate(step, recipe) for step in range(recipe["steps"])]
        optimizer = AdamW(
            weight_decay_rate=recipe["weight_decay"], epsilon=recipe["adam_epsilon"]
        )
        clip = recipe["clip"]
    except (KeyError, TypeError) as error:
        raise UserError(f"{source} is not a training recipe: {error}.") from error
    if told != (_OPTIMIZER, _DECAY):
        raise UserError(
            f"{source} asks for {told[0]!r} with {told[1]!r}; verify takes the steps "
            f"of {_OPTIMIZER!r} with {_DECAY!r} only."
        )
    variables = model.trainable_variables
    optimizer.build(variables)
    memories = model.transformer.first_memories(len(batches[0]["input_ids"]))
    step_losses, norms = [], []
    for rate, batch in zip(rates, batches, strict=False):
        loss, gradients, memories = _loss_and_gradients(
            model, {**batch, "memories": memories}
        )
        clipped, norm = tf.clip_by_global_norm(list(gradients.values()), clip)
        optimizer.learning_rate = rate
        optimizer.apply(clipped, variables)
        step_losses.append(loss)
        norms.append(norm)
    return {
        "train_losses": tf.stack(step_losses),
        "train_learning_rates": np.array(rates, np.float32),
        "train_gradient_norms": tf.stack(norms),
        **prefixed("after/", model.official_variables()),
    }


def _learning_rate(step, recipe):
    """Computes a learning rate with linear warm-up and decay (`model_utils.py`)."""
    rate, warm_up = recipe["learning_rate"], recipe["warmup_steps"]
    if step < warm_up:
        return rate * step / warm_up
    done = min((step - warm_up) / (recipe["train_steps"] - warm_up), 1.0)
    least = recipe["min_lr_ratio"]
    return rate * (least + (1 - least) * (1 - done))
