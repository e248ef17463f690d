"""Deviations of a checkpoint's outputs from recorded ones; see `verify`."""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.errors import UserError
from albert_tf.hub.names import refuse_run_folder
from albert_tf.io.files import read_arrays
from albert_tf.io.files import read_json_object
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import create_optimizer
from albert_tf.verify import huggingface
from albert_tf.verify import race
from albert_tf.verify import squad
from albert_tf.verify import training_steps
from albert_tf.verify import xlnet
from albert_tf.verify import xlnet_answers
from albert_tf.verify.recordings import Compared

_FEATURES = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions")
_LABELS = ("masked_lm_ids", "masked_lm_weights", "sentence_order_labels")
_LOSSES = ("mlm_loss", "sop_loss", "loss")
_GRADIENTS = ("grad/", "grad_none/")


@dataclasses.dataclass(frozen=True)
class Deviation:
    """Distance of one array from its expected value."""

    name: str
    absolute: float  # the largest difference of two entries
    relative: float  # that, divided by the largest expected entry
    limit: float  # the bound of `absolute`
    note: str = ""  # a remark for the table

    @property
    def passed(self):
        """True for a deviation within the limit; never for NaN."""
        return self.absolute <= self.limit


def deviations_of(directory, vocabulary):
    """Compares as `verify`, with its arguments, values and errors."""
    refuse_run_folder(directory)
    deviations, unknown = [], []
    kinds = (huggingface, xlnet_answers, xlnet, race)
    kind = next((k for k in kinds if k.knows(directory)), squad)
    for part in kind.compare(directory, vocabulary):
        deviations += _deviations(part)
        unknown += [part.prefix + n for n in part.expected if n not in part.found]
    if deviations:
        return deviations, unknown
    found, expected = _pretraining(directory)
    deviations = _deviations(Compared("", found, expected))
    if not deviations:
        raise UserError(
            f"{directory}/expected.npz holds none of the arrays that verify compares."
        )
    return deviations, [name for name in expected if name not in found]


def _pretraining(directory):
    """Returns the outputs of a pretraining model, found and expected."""
    inputs = read_arrays(os.path.join(directory, "inputs.npz"))
    expected = read_arrays(os.path.join(directory, "expected.npz"))
    checkpoint = read_checkpoint(directory)
    model = build_model(
        AlbertForPreTraining, checkpoint, _unused_parts(expected), arguments={}
    )
    _check_inputs(directory, inputs, model.config)
    found = _outputs(model, inputs, expected)
    if any(name in expected for name in _LOSSES) or _starts(expected, "grad/"):
        found |= _losses_and_gradients(model, _batch(directory, inputs))
    if "train_losses" in expected or _starts(expected, "after/"):
        found |= _trained(model, _batch(directory, inputs), directory)
    return found, expected


def _deviations(part):
    found, expected = part.found, part.expected
    known = [name for name in expected if name in found]
    largest_gradient = max(
        (np.abs(expected[name]).max() for name in known if name.startswith(_GRADIENTS)),
        default=0.0,
    )
    deviations = []
    for name in known:
        if name.startswith("after/"):
            limit = part.weights_limit
        else:
            limit = _limit(name, expected[name], largest_gradient)
        one = _deviation(name, found[name], expected[name], limit)
        note = part.notes.get(name, "")
        deviations.append(dataclasses.replace(one, name=part.prefix + name, note=note))
    return deviations


def _starts(names, prefix):
    return any(name.startswith(prefix) for name in names)


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


def _check_inputs(directory, inputs, config):
    path = os.path.join(directory, "inputs.npz")
    if "input_ids" not in inputs:
        raise UserError(f"{path} lacks input_ids.")
    shape = inputs["input_ids"].shape  # [B, T]
    for name in _FEATURES:
        length = slice(1) if name == "masked_lm_positions" else slice(2)
        if name in inputs and (
            inputs[name].ndim != 2 or inputs[name].shape[length] != shape[length]
        ):
            raise UserError(f"{path}: {name} has the wrong shape {inputs[name].shape}.")
    limits = {
        "input_ids": config.vocab_size,
        "masked_lm_ids": config.vocab_size,
        "segment_ids": config.type_vocab_size,
        "masked_lm_positions": shape[1],
        "sentence_order_labels": 2,
    }
    for name, limit in limits.items():
        if name in inputs and not 0 <= inputs[name].min() <= inputs[name].max() < limit:
            raise UserError(f"{path}: {name} must be in [0, {limit}).")


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


def _losses_and_gradients(model, batch):
    (loss, masked_lm, sentence_order), gradients = training_steps.gradients(
        model, batch
    )
    names = model.official_names()
    return {
        "loss": loss,
        "mlm_loss": masked_lm,
        "sop_loss": sentence_order,
        **{
            f"grad/{names[variable.path]}": gradient
            for variable, gradient in zip(
                model.trainable_variables, gradients, strict=True
            )
        },
    }


def _trained(model, batch, directory):
    """Takes the steps of `train.json`; the model has other weights afterwards."""
    path = os.path.join(directory, "train.json")
    recipe = read_json_object(path)
    try:
        steps = recipe.pop("steps")
        optimizer = create_optimizer(recipe.pop("optimizer"), **recipe)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not a training recipe: {error}.") from error
    losses = training_steps.train(model, optimizer, batch, steps)
    weights = model.official_variables()
    return {
        "train_losses": tf.stack(losses),
        **{f"after/{name}": variable for name, variable in weights.items()},
    }


def _limit(name, expected, largest_gradient):
    """Returns the limit: 1e-5 of the largest entry, for outputs at least 1e-5.

    A gradient that is zero in exact arithmetic, such as the gradient of the key's bias,
    is noise of float32; so it may also deviate by 1e-6 of the largest of all.
    """
    largest = float(np.abs(expected).max())
    if name.startswith(_GRADIENTS):
        return max(1e-5 * largest, 1e-6 * largest_gradient)
    return 1e-5 * max(1.0, largest)


def _deviation(name, found, expected, limit):
    found = np.asarray(found).astype(np.float64)
    largest = float(np.abs(expected).max())
    if found.shape != expected.shape:
        return Deviation(name, np.inf, np.inf, limit)
    absolute = float(np.abs(found - expected).max())
    return Deviation(name, absolute, absolute / largest if largest else absolute, limit)
