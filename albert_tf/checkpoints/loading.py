"""Recognises a checkpoint, reads it, and builds models from it."""

import dataclasses
import functools
import inspect
import itertools
import os
from collections.abc import Callable

import numpy as np
from absl import logging

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.assignment import beginnings
from albert_tf.checkpoints.huggingface import ADAPTER_FILES
from albert_tf.checkpoints.huggingface import PICKLED_FILES
from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_config_of
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.checkpoints.sentence_transformers import ACTIVATION
from albert_tf.checkpoints.sentence_transformers import TEXT_VECTORS
from albert_tf.checkpoints.sentence_transformers import read_activation
from albert_tf.checkpoints.sentence_transformers import read_pooling
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_config
from albert_tf.checkpoints.tf1 import read_tf1_tensors
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.base import ModelFamily
from albert_tf.families.layer_sharing import merge_adapters
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.near_misses import arguments_of
from albert_tf.io.near_misses import refuse_arguments


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, whose weights are read when they are needed."""

    source: str  # what to call it in messages
    config: object | None  # such as an `AlbertConfig`; None if none lies beside it
    read: Callable[[], dict]  # the float32 arrays by official name
    family: ModelFamily | None = None  # None without a config
    # The entries of Hugging Face's config.json.
    huggingface: dict = dataclasses.field(default_factory=dict)
    saved: tuple = ()  # of a model directory, as of `read_head`
    path: str | None = None  # where it was found, as it was named
    listed: dict = dataclasses.field(default_factory=dict)  # the checksums there

    @property
    def tensors(self):
        """The float32 arrays by official name."""
        return self.read()

    def head(self, otherwise=()):
        """Returns the class of the model, and its head's constructor arguments.

        The class is the one that the model names, else the one that its tensors tell.

        Args:
            otherwise: as of `model_class`.
        """
        if self.saved:
            return self.saved
        model_class = self.model_class(otherwise)
        return model_class, self.head_arguments(model_class)

    def model_class(self, otherwise=()):
        """Returns the registered class of the tensors; see `registry.recognise`.

        Args:
            otherwise: Hugging Face's names of models, to decide between classes whose
                tensors have the same names where the checkpoint names none.
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
        if not self.huggingface or (head and not self.tensors.keys() & head):
            return {}
        told = model_class.head_config_from_huggingface(self.huggingface)
        # A class without variables of its own asks for no weights.
        return model_class.resolve_arguments(told, {}, self.tensors if head else None)

    def task_info(self, model):
        """Returns the task, and its length, of a model built from it; or None."""
        saved_class, saved = self.saved or (None, {})
        info, head = {}, model.head_config()
        if saved_class is type(model):
            # A caller may have given it other labels.
            if all(head.get(n) == saved.get(n) for n in ("num_labels", "labels")):
                info = read_training_info(self.path)
        elif TEXT_VECTORS in self.huggingface and self.head_arguments(type(model)):
            info = {"task": model.told_task(head)}
            length = self.huggingface[TEXT_VECTORS].get("max_seq_length")
            if length:
                info["max_seq_length"] = model.config.longest_row(length)
        kept = ("task", "max_seq_length") if "task" in info else ()
        return {name: info[name] for name in kept if name in info} or None


def read_checkpoint(path):
    """Recognises the checkpoint at `path`, whatever its kind.

    Args:
        path: a model directory, an unpacked official archive or TF-Hub module, a
            TF1 checkpoint prefix, or a Hugging Face directory; or a `Checkpoint`.

    Returns:
        A `Checkpoint`. It reads its weights once, when they are asked for, and may
        find them damaged then.

    Raises:
        UserError: there is no checkpoint, or its description is damaged.
    """
    if isinstance(path, Checkpoint):
        return path
    path = os.fspath(path)
    if is_model_directory(path):
        return _of_model_directory(path)
    _refuse_adapter(path)
    if is_huggingface_directory(path):
        return _of_huggingface(path)
    prefix = find_tf1_prefix(path)
    if prefix:
        family, config = read_tf1_config(prefix)
        read = functools.cache(functools.partial(_tensors_of_tf1, prefix, family))
        return Checkpoint(prefix, config, read, family and family.read_as, path=path)
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


def _refuse_adapter(path):
    """Refuses weights that are to be added to others', as of LoRA."""
    for name in ADAPTER_FILES:
        if storage.exists(os.path.join(path, name)):
            raise UserError(
                f"{path} holds an adapter ({name}), which changes the weights of a "
                "model, and albert_tf reads whole models: load it with peft, and save "
                "model.merge_and_unload() with save_pretrained in a folder of its own; "
                "or take the adapter's files away to read the model without it."
            )


def _of_model_directory(path):
    listed, saved = checksums.read(path), read_head(path)
    family = saved[0].family
    config = read_config_of(path, family)
    read = functools.cache(functools.partial(_tensors_of_model, path))
    return Checkpoint(path, config, read, family, saved=saved, path=path, listed=listed)


def _of_huggingface(path):
    listed = checksums.read(path)
    family, config, entries = read_huggingface_config(path)
    weights = os.path.join(path, HUGGINGFACE_WEIGHTS)
    read = functools.partial(
        read_huggingface_tensors,
        weights,
        family,
        architectures(entries),
        getattr(config, "tie_word_embeddings", True),
    )
    entries = {**entries, ACTIVATION: read_activation(path, entries)}
    pooling = read_pooling(path, config.row_layout.cls_last)
    if pooling is not None:
        entries = {**entries, TEXT_VECTORS: pooling}
    return Checkpoint(
        path,
        config,
        functools.cache(read),
        family.read_as,
        entries,
        path=path,
        listed=listed,
    )


def _tensors_of_model(path):
    variables = load_model_directory(path).official_variables()
    return {name: np.array(value) for name, value in variables.items()}


def _tensors_of_tf1(prefix, family):
    tensors = read_tf1_tensors(prefix)
    return tensors if family is None else family.from_official(tensors)


def load_pretrained(model_class, path, arguments, allow_missing=()):
    """Loads a model for `from_pretrained` of what `read_checkpoint` takes."""
    fields = {f.name for f in dataclasses.fields(model_class.family.config_class)}
    own = (*loading_arguments(model_class), *arguments_of(model_class.from_pretrained))
    refuse_arguments(model_class.__name__, arguments, own)
    changes = {k: value for k, value in arguments.items() if k in fields}
    arguments = {k: value for k, value in arguments.items() if k not in fields}
    checkpoint, is_as_saved = read_checkpoint(path), False
    saved_class, head = checkpoint.saved or (None, {})
    if saved_class is model_class:
        arguments = model_class.resolve_arguments(head, arguments)
        is_as_saved = head.items() <= arguments.items() and not changes
    if is_as_saved:
        model = load_model_directory(checkpoint.path, **arguments)
    else:
        checkpoint.check_family(model_class)
        checkpoint = _changed(checkpoint, changes)
        told = checkpoint.head_arguments(model_class)
        model = build_model(model_class, checkpoint, allow_missing, arguments, told)
        logging.info("%s", model.load_report)
    model.saved_task_info = checkpoint.task_info(model)
    if checkpoint.listed:
        checksums.check_unchanged(checkpoint.path, checkpoint.listed)
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
        found += [*constructor_arguments(model_class), *(own.name for own in fields)]
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
    checkpoint = Checkpoint(model.load_report.source, config, lambda: tensors)
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
