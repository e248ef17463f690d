"""Recognises a checkpoint, reads it, and builds models from it."""

import dataclasses
import functools
import inspect
import itertools
import os

import numpy as np
from absl import logging

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.assignment import beginnings
from albert_tf.checkpoints.huggingface import PICKLED_FILES
from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.model_directory import read_task_info
from albert_tf.checkpoints.sentence_transformers import TEXT_VECTORS
from albert_tf.checkpoints.sentence_transformers import read_pooling
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_config
from albert_tf.checkpoints.tf1 import read_tf1_tensors
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.base import ModelFamily
from albert_tf.families.layer_sharing import merge_adapters
from albert_tf.io import storage
from albert_tf.io.near_misses import refuse_arguments


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint read into memory."""

    source: str  # what to call it in messages
    config: object | None  # such as an `AlbertConfig`; None if none lies beside it
    tensors: dict  # float32 arrays by official name
    family: ModelFamily | None = None  # None without a config
    # The entries of Hugging Face's config.json.
    huggingface: dict = dataclasses.field(default_factory=dict)

    def model_class(self, otherwise=()):
        """Returns the registered class of the tensors; see `registry.recognise`.

        Args:
            otherwise: the architectures of a checkpoint that names none.
        """
        if TEXT_VECTORS in self.huggingface:
            return registry.model_of_vectors(self.family)
        names = architectures(self.huggingface) or otherwise
        return registry.recognise(self.tensors, self.family, names)

    def check_family(self, model_class):
        """Refuses a class of another architecture.

        Raises:
            UserError: it names both.
        """
        if self.family not in (None, model_class.family):
            raise UserError(
                f"{self.source} is of the {self.family.huggingface_type} family, but "
                f"{model_class.__name__} is of the "
                f"{model_class.family.huggingface_type} family; name a model of that "
                "family."
            )

    def head_arguments(self, model_class):
        """Returns the constructor arguments in `config.json` if its head is there."""
        head = model_class.head_names().keys()
        has_head = not head or self.tensors.keys() & head
        if not self.huggingface or not has_head:
            return {}
        told = model_class.head_config_from_huggingface(self.huggingface)
        return model_class.resolve_arguments(told, {}, self.tensors)


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
        return Checkpoint(path, model.config, tensors, model.family)
    if is_huggingface_directory(path):
        return _read_huggingface(path)
    prefix = find_tf1_prefix(path)
    if prefix:
        family, config = read_tf1_config(prefix)
        tensors = read_tf1_tensors(prefix)
        tensors = tensors if family is None else family.from_official(tensors)
        return Checkpoint(prefix, config, tensors, family and family.read_as)
    pickled = [n for n in PICKLED_FILES if storage.exists(os.path.join(path, n))]
    if pickled:
        raise UserError(
            f"{path} holds its weights as {pickled[0]}, a program that could do "
            "anything; where you trust it, load the model with transformers and torch "
            "(its class's from_pretrained), write it with "
            "save_pretrained(folder, safe_serialization=True), and name that folder."
        )
    raise UserError(
        f"{path} holds no checkpoint: expected a model directory, model.ckpt-*.index "
        "of the official code, or config.json and model.safetensors."
    )


def _read_huggingface(path):
    family, config, entries = read_huggingface_config(path)
    weights = os.path.join(path, HUGGINGFACE_WEIGHTS)
    names = architectures(entries)
    tensors = read_huggingface_tensors(weights, family, names)
    pooling = read_pooling(path, config.row_layout.cls_last)
    if pooling is not None:
        entries = {**entries, TEXT_VECTORS: pooling}
    return Checkpoint(path, config, tensors, family.read_as, entries)


def family_of(path):
    """Returns the `ModelFamily` of the model at `path`, without reading its weights.

    It is None where nothing beside the checkpoint tells.

    Args:
        path: as of `read_checkpoint`.

    Raises:
        UserError: the description of the model is damaged.
    """
    path = os.fspath(path)
    if is_model_directory(path):
        return read_head(path)[0].family
    if is_huggingface_directory(path):
        return read_huggingface_config(path)[0].read_as
    prefix = find_tf1_prefix(path)
    family = read_tf1_config(prefix)[0] if prefix else None
    return family and family.read_as


def find_head(path, otherwise=()):
    """Returns the class of the model at `path`, and its head's constructor arguments.

    The class is the one that the model names, else the one that its tensors tell.

    Args:
        path: as of `read_checkpoint`.
        otherwise: Hugging Face's names of models, to decide between classes whose
            tensors have the same names where the checkpoint says nothing.

    Raises:
        UserError: as `read_checkpoint`.
    """
    if is_model_directory(path):
        return read_head(path)
    checkpoint = read_checkpoint(path)
    model_class = checkpoint.model_class(otherwise)
    return model_class, checkpoint.head_arguments(model_class)


def load_pretrained(model_class, path, arguments, allow_missing=()):
    """Loads a model for `from_pretrained` of a path that `read_checkpoint` takes."""
    config_class = model_class.family.config_class
    fields = {field.name for field in dataclasses.fields(config_class)}
    known = loading_arguments(model_class)
    refuse_arguments(model_class.__name__, arguments, known)
    changes = {k: value for k, value in arguments.items() if k in fields}
    arguments = {k: value for k, value in arguments.items() if k not in fields}
    task_info, is_as_saved = None, False
    if is_model_directory(path):
        saved_class, head = read_head(path)
        if saved_class is model_class:
            arguments = model_class.resolve_arguments(head, arguments)
            is_as_saved = head.items() <= arguments.items() and not changes
            if arguments.get("num_labels") == head.get("num_labels"):
                task_info = read_task_info(path)
    if is_as_saved:
        model = load_model_directory(path, **arguments)
    else:
        checkpoint = read_checkpoint(path)
        checkpoint.check_family(model_class)
        checkpoint = _changed(checkpoint, changes)
        told = checkpoint.head_arguments(model_class)
        model = build_model(model_class, checkpoint, allow_missing, arguments, told)
        logging.info("%s", model.load_report)
        if told and TEXT_VECTORS in checkpoint.huggingface:
            task_info = {"task": model.told_task(model.head_config())}
            length = checkpoint.huggingface[TEXT_VECTORS].get("max_seq_length")
            if length:
                task_info["max_seq_length"] = model.config.longest_row(length)
    model.saved_task_info = task_info
    return model


@functools.cache
def constructor_arguments(model_class):
    """Returns the names that a model's constructor takes beside its config, a tuple.

    Those of a base that its subclass gives itself have no default.
    """
    constructors = [vars(owner).get("__init__") for owner in model_class.__mro__]
    own, *bases = (
        [*inspect.signature(constructor).parameters.values()]
        for constructor in filter(inspect.isfunction, constructors)
    )
    of_bases = itertools.chain.from_iterable(bases)
    parameters = [*own[2:], *(p for p in of_bases if p.default is not p.empty)]
    names = (p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    return tuple(dict.fromkeys(names))


def loading_arguments(*model_classes):
    """Returns the names that `load_pretrained` takes: fields of the config, too."""
    found = []
    for model_class in model_classes:
        fields = dataclasses.fields(model_class.family.config_class)
        found += [
            *constructor_arguments(model_class),
            *(field.name for field in fields),
        ]
    return found


def without_adapters(model):
    """Returns the same function without depth adapters, each layer with its weights.

    Args:
        model: a `PretrainedModel`; one without adapters is returned itself.
    """
    if not model.config.depth_adapter_rank:
        return model
    tensors = {n: np.float32(v) for n, v in model.official_variables().items()}
    config, tensors = merge_adapters(model.config, tensors)
    checkpoint = Checkpoint(model.load_report.source, config, tensors)
    arguments = {**model.execution, **model.head_config(), "dtype": model.dtype_policy}
    merged = build_model(type(model), checkpoint, (), arguments)
    merged.saved_task_info = model.saved_task_info
    return merged


def _changed(checkpoint, changes):
    """Returns the checkpoint with other values of its configuration."""
    if not changes or checkpoint.config is None:
        return checkpoint
    config = dataclasses.replace(checkpoint.config, **changes)
    return dataclasses.replace(checkpoint, config=config)


def build_model(model_class, checkpoint, allow_missing, arguments, told=None):
    """Builds a model and assigns a `Checkpoint` to it.

    Args:
        model_class: a `PretrainedModel`.
        checkpoint: a `Checkpoint`.
        allow_missing: see `PretrainedModel.from_pretrained`.
        arguments: dict of constructor arguments beside the config.
        told: dict of those that the checkpoint says of its head, which count less.

    Returns:
        The model, with its `load_report`.

    Raises:
        UserError: the checkpoint does not fit the model.
    """
    checkpoint.check_family(model_class)
    if checkpoint.config is None:
        raise UserError(
            f"{checkpoint.source} has no {model_class.family.config_file} beside it; "
            "copy the file there."
        )
    arguments = model_class.resolve_arguments(told or {}, arguments, checkpoint.tensors)
    model = model_class(checkpoint.config, **arguments)
    allow_missing = (*beginnings(allow_missing), *model.unused_variables)
    if model_class.head_may_be_new:
        allow_missing = (*allow_missing, *model.head_variables())
    model.load_report = assign_tensors(
        model, checkpoint.tensors, checkpoint.source, allow_missing
    )
    return model
