"""Recognises a checkpoint, reads it, and builds models from it."""

import dataclasses
import os

import numpy as np
from absl import logging

from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.report import assign_tensors
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint read into memory: arrays by official name, and its config."""

    source: str
    config: AlbertConfig
    tensors: dict


def read_checkpoint(path):
    """Reads the checkpoint at `path`, whatever its kind.

    Args:
        path: a model directory.

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
    raise UserError(f"{path} holds no checkpoint.")


def load_pretrained(model_class, path, allow_missing, arguments):
    """`PretrainedModel.from_pretrained`."""
    path = os.fspath(path)
    if is_model_directory(path):
        saved_class, head = read_head(path)
        if saved_class is model_class:
            arguments = {**head, **arguments}
            if head.items() <= arguments.items():
                return load_model_directory(path, **arguments)
    checkpoint = read_checkpoint(path)
    arguments = model_class.complete_arguments(arguments, checkpoint.tensors)
    model = model_class(checkpoint.config, **arguments)
    if model_class.head_may_be_new:
        allow_missing = (*allow_missing, *model.head_variables())
    model.load_report = assign_tensors(
        model, checkpoint.tensors, checkpoint.source, allow_missing
    )
    logging.info("%s", model.load_report)
    return model
