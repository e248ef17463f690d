"""Recordings of pretraining: outputs, losses, gradients, and weights after steps.

Steps are those of the official code on one CPU or GPU. The engine (`train_step.py`)
clips by the true norm of the gradients; the official norm differs from it in one table,
see `_official_norm`.
"""

import os

import tensorflow as tf

from albert_tf import bundle
from albert_tf.bundle import build_model
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import create_optimizer
from tools.verify.recordings import Compared
from tools.verify.recordings import gradients_of
from tools.verify.recordings import holds_any
from tools.verify.recordings import prefixed
from tools.verify.recordings import read_recording

_CLIP_NORM = 1.0
_FEATURES = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
_LABELS = ("masked_lm_ids", "masked_lm_weights", "sentence_order_labels")
_LOSSES = ("loss", "mlm_loss", "sop_loss")


def compare(directory, vocabulary=None):
    """Yields the `Compared` of a folder that no other kind of recording claims."""
    inputs, expected = read_recording(directory, "input_ids")
    checkpoint = bundle.open(directory)
    model = build_model(
        AlbertForPreTraining, checkpoint, _unused_parts(expected), arguments={}
    )
    found = _outputs(model, inputs, expected)
    if any(name in expected for name in _LOSSES) or holds_any(expected, "grad/"):
        losses, gradients = _losses_and_gradients(model, _batch(directory, inputs))
        found |= dict(zip(_LOSSES, losses, strict=True))
        found |= prefixed("grad/", gradients)
    if "train_losses" in expected or holds_any(expected, "after/"):
        found |= _trained(model, _batch(directory, inputs), directory)
    yield Compared("", found, expected)


def _unused_parts(expected):
    """Names the parts a checkpoint may lack, because nothing expected needs them."""
    if any(name in expected for name in ("loss", "train_losses")):
        return ()
    masked_lm = {"mlm_log_probs", "mlm_loss"} & set(expected)
    sentence_order = {"sop_log_probs", "sop_loss"} & set(expected)
    parts = () if masked_lm else ("cls/predictions",)
    parts += () if sentence_order else ("cls/seq_relationship",)
    pooled = sentence_order or "pooled_output" in expected
    return parts if pooled else (*parts, "bert/pooler")


def _batch(directory, inputs):
    missing = [name for name in (*_FEATURES, *_LABELS) if name not in inputs]
    if missing:
        raise UserError(f"{directory}/inputs.npz lacks {missing[0]} for the losses.")
    return {name: tf.constant(inputs[name]) for name in (*_FEATURES, *_LABELS)}


def _outputs(model, inputs, expected):
    features = {name: inputs[name] for name in _FEATURES if name in inputs}
    outputs = model(features)
    encoded = model.albert(features)
    states = encoded["hidden_states"]
    inner = model.config.inner_group_num
    stored = sum(name.startswith("layer_") for name in expected)
    if stored == model.config.num_hidden_layers:
        # Hugging Face keeps one state a layer, the official code one a block.
        states = states[inner - 1 :: inner]
    found = {f"layer_{i}": state for i, state in enumerate(states)}
    found["embedding_output"] = encoded["embedding_output"]
    found["sequence_output"] = outputs["sequence_output"]
    found["pooled_output"] = outputs["pooled_output"]
    found["sop_log_probs"] = tf.nn.log_softmax(outputs["sentence_order_logits"])
    if "masked_lm_logits" in outputs:
        log_probabilities = tf.nn.log_softmax(outputs["masked_lm_logits"])
        rows = (-1, model.config.vocab_size)
        found["mlm_log_probs"] = tf.reshape(log_probabilities, rows)  # [B * P, V]
    return found


def _trained(model, batch, directory):
    """Takes the steps of `train.json`; the model has other weights afterwards."""
    path = os.path.join(directory, "train.json")
    recipe = read_json_object(path)
    try:
        steps = recipe.pop("steps")
        optimizer = create_optimizer(recipe.pop("optimizer"), **recipe)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not a training recipe: {error}.") from error
    optimizer.build(model.trainable_variables)
    # The official graph advances its counter before it looks up the rate.
    optimizer.iterations.assign(1)
    losses = []
    for _ in range(steps):
        (loss, *_), gradients = _losses_and_gradients(model, batch)
        norm = _official_norm(model, batch, gradients)
        dense = list(gradients.values())
        clipped, _ = tf.clip_by_global_norm(dense, _CLIP_NORM, use_norm=norm)
        optimizer.apply(clipped, model.trainable_variables)
        losses.append(loss)
    losses.append(_losses(model, batch)[0])
    weights = prefixed("after/", model.official_variables())
    return {"train_losses": tf.stack(losses), **weights}


def _losses_and_gradients(model, batch):
    with tf.GradientTape() as tape:
        losses = _losses(model, batch)
    return losses, gradients_of(tape, losses[0], model)


def _losses(model, batch, rows=slice(None)):
    """Returns the pretraining loss and its terms, or the share of `rows` in them."""
    objective = PretrainingObjective()
    denominators = objective.denominators(batch)
    part = {name: value[rows] for name, value in batch.items()}
    sums, _ = objective(model, part, training=False, dropout_seed=None)
    masked_lm, sentence_order = (
        sums[term] / (denominators[term] + objective.epsilons.get(term, 0))
        for term in ("masked_lm", "sentence_order")
    )
    return masked_lm + sentence_order, masked_lm, sentence_order


def _official_norm(model, batch, gradients):
    """Computes the global norm by which the official code clips.

    On CPU and GPU it looks segments up in their table, and TensorFlow takes the norm of
    such a gradient over its list of rows, one a token, before rows of the same segment
    are added up. A token's row is also, example by example, the row of its position.
    """
    embeddings = model.albert.embeddings
    segments = model.official_names()[embeddings.token_type_embeddings.path]
    square = tf.square(tf.linalg.global_norm(list(gradients.values())))
    square -= tf.reduce_sum(tf.square(gradients[segments]))
    positions = embeddings.position_embeddings.value
    for i in range(batch["input_ids"].shape[0]):
        with tf.GradientTape() as tape:
            loss, *_ = _losses(model, batch, rows=slice(i, i + 1))
        rows = tf.convert_to_tensor(tape.gradient(loss, positions))  # [P, E]
        square += tf.reduce_sum(tf.square(rows))
    return tf.sqrt(square)
