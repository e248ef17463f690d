"""Recognises a checkpoint, reads it, and builds models from it."""

import dataclasses
import os

import numpy as np
from absl import logging

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.tf1 import find_tf1_config
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_tensors
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint read into memory."""

    source: str  # what to call it in messages
    config: AlbertConfig | None  # None if none lies beside it
    tensors: dict  # float32 arrays by official name


def read_checkpoint(path):
    """Reads the checkpoint at `path`, whatever its kind.

    Args:
        path: a model directory, an unpacked official archive or TF-Hub module, a
            TF1 checkpoint prefix, or a Hugging Face directory.

    Returns:
        A `Checkpoint`.

    Raises:
        UserError: there is no checkpoint, or it is damaged.
    """
    path = os.fspath(path)
    if is_model_directory(path):
        model = load_model_directory(path)
        tensors = {n: np.array(v) for n, v in model.official_variables().items()}
        return Checkpoint(path, model.config, tensors)
    if is_huggingface_directory(path):
        tensors = read_huggingface_tensors(os.path.join(path, HUGGINGFACE_WEIGHTS))
        return Checkpoint(path, read_huggingface_config(path), tensors)
    prefix = find_tf1_prefix(path)
    if prefix:
        config = find_tf1_config(prefix)
        config = AlbertConfig.from_json_file(config) if config else None
        return Checkpoint(prefix, config, read_tf1_tensors(prefix))
    raise UserError(
        f"{path} holds no checkpoint: expected a model directory, model.ckpt-*.index "
        "of the official code, or config.json and model.safetensors."
    )


def load_pretrained(model_class, path, allow_missing, arguments):
    """`PretrainedModel.from_pretrained`."""
    path = os.fspath(path)
    if is_model_directory(path):
        saved_class, head = read_head(path)
        if saved_class is model_class:
            arguments = {**head, **arguments}
            if head.items() <= arguments.items():
                return load_model_directory(path, **arguments)
    model = build_model(model_class, read_checkpoint(path), allow_missing, arguments)
    logging.info("%s", model.load_report)
    return model


def build_model(model_class, checkpoint, allow_missing, arguments):
    """Builds a model and assigns a `Checkpoint` to it.

    Args:
        model_class: a `PretrainedModel`.
        checkpoint: a `Checkpoint`.
        allow_missing: see `PretrainedModel.from_pretrained`.
        arguments: dict of constructor arguments beside the config.

    Returns:
        The model, with its `load_report`.

    Raises:
        UserError: the checkpoint does not fit the model.
    """
    if checkpoint.config is None:
        raise UserError(f"{checkpoint.source} has no albert_config.json beside it.")
    arguments = model_class.complete_arguments(arguments, checkpoint.tensors)
    model = model_class(checkpoint.config, **arguments)
    allow_missing = (*allow_missing, *model_class.unused_variables)
    if model_class.head_may_be_new:
        allow_missing = (*allow_missing, *model.head_variables())
    model.load_report = assign_tensors(
        model, checkpoint.tensors, checkpoint.source, allow_missing
    )
    return model
