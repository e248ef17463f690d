"""Recognises a checkpoint, reads it, and builds models from it."""

import dataclasses
import os

import numpy as np
from absl import logging

from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.model_directory import read_task_info
from albert_tf.checkpoints.report import assign_tensors
from albert_tf.checkpoints.tf1 import find_tf1_config
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_tensors
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory


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


def load_pretrained(model_class, path, allow_missing, arguments, revision=None):
    """`PretrainedModel.from_pretrained`."""
    path = local_directory(path, revision)
    fields = {field.name for field in dataclasses.fields(AlbertConfig)}
    changes = {k: value for k, value in arguments.items() if k in fields}
    arguments = {k: value for k, value in arguments.items() if k not in fields}
    task_info, is_as_saved = None, False
    if is_model_directory(path):
        saved_class, head = read_head(path)
        if saved_class is model_class:
            arguments = {**head, **arguments}
            is_as_saved = head.items() <= arguments.items() and not changes
            if arguments.get("num_labels") == head.get("num_labels"):
                task_info = read_task_info(path)
    if is_as_saved:
        model = load_model_directory(path, **arguments)
    else:
        checkpoint = _changed(read_checkpoint(path), changes)
        model = build_model(model_class, checkpoint, allow_missing, arguments)
        logging.info("%s", model.load_report)
    model.saved_task_info = task_info
    return model


def _changed(checkpoint, changes):
    """The checkpoint with other values of its configuration."""
    if not changes or checkpoint.config is None:
        return checkpoint
    config = dataclasses.replace(checkpoint.config, **changes)
    return dataclasses.replace(checkpoint, config=config)


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
    if model_class.head_may_be_new:
        allow_missing = (*allow_missing, *model.head_variables())
    model.load_report = assign_tensors(
        model, checkpoint.tensors, checkpoint.source, allow_missing
    )
    return model
