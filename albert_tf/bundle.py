"""Reads and writes model folders in any format; each folder is opened once.

`open` reads a model's metadata, `Bundle.model` builds the model,
`Bundle.tokenizer` loads its vocabulary, and `save` writes a model in any format.
"""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import os
import tempfile
from collections.abc import Callable

import numpy as np
from absl import logging

from albert_tf.checkpoints import sentence_transformers
from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.assignment import beginnings
from albert_tf.checkpoints.flags import FORMATS
from albert_tf.checkpoints.huggingface import ADAPTER_FILES
from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import PICKLED_FILES
from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import architectures
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.huggingface import read_huggingface_config
from albert_tf.checkpoints.huggingface import read_huggingface_tensors
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.model_card import write_card
from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.checkpoints.model_directory import WEIGHTS_FILE
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import labels_in_both
from albert_tf.checkpoints.model_directory import load_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.checkpoints.model_directory import save_model_directory
from albert_tf.checkpoints.sentence_transformers import LONGEST
from albert_tf.checkpoints.sentence_transformers import TEXT_VECTORS
from albert_tf.checkpoints.sentence_transformers import read_settings
from albert_tf.checkpoints.tf1 import BEST_CHECKPOINT
from albert_tf.checkpoints.tf1 import ENDINGS
from albert_tf.checkpoints.tf1 import find_tf1_prefix
from albert_tf.checkpoints.tf1 import read_tf1_config
from albert_tf.checkpoints.tf1 import read_tf1_tensors
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.families.base import ModelFamily
from albert_tf.families.layer_sharing import merge_adapters
from albert_tf.families.layer_sharing import move_layers_and_adapters
from albert_tf.families.readable import readable_families
from albert_tf.hub.names import local_directory
from albert_tf.hub.uploads import check_upload
from albert_tf.hub.uploads import upload
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.near_misses import arguments_of
from albert_tf.io.near_misses import refuse_arguments
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.models.base import constructor_arguments
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.loading import brings_tokenizer
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import saved_files
from albert_tf.tokenization.loading import tokenizer_of
from albert_tf.tokenization.tokenizer import was_saved_alone

# The required files of each format, weights last, in the order in which `open` looks
# for them.
_SEARCHED = {
    "model_directory": (WEIGHTS_FILE,),
    "huggingface": (CONFIG_FILE, HUGGINGFACE_WEIGHTS),
    "tf1": tuple(f"{BEST_CHECKPOINT}.{ending}" for ending in ENDINGS),
}
# No other program writes files of these names.
_ONLY_OURS = {HEAD_FILE, TRAINING_INFO_FILE}
# Fields that change neither the shape nor the meaning of a tensor.
_MAY_DIFFER = (
    "num_hidden_layers",
    "num_hidden_groups",
    "parameter_sharing",
    "depth_adapter_rank",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "initializer_range",
)


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A model folder of any format, opened once; its weights are loaded lazily.

    Attributes:
        source: the folder's name in messages.
        config: the `ModelConfig`; None if there is none beside the weights.
        read: function that returns the float32 arrays by official name.
        family: the `ModelFamily`; None without a config.
        huggingface: the entries of Hugging Face's `config.json`.
        saved: the model class and the head arguments recorded in a model directory.
        info: the content of `training_info.json`; {} without it.
        path: the folder, or the prefix of a TF1 checkpoint.
        listed: the checksums by file name that the folder had when it was opened.
    """

    source: str
    config: object | None
    read: Callable[[], dict]
    family: ModelFamily | None = None
    huggingface: dict = dataclasses.field(default_factory=dict)
    saved: tuple = ()
    info: dict = dataclasses.field(default_factory=dict)
    path: str | None = None
    listed: dict = dataclasses.field(default_factory=dict)

    @property
    def facts(self):
        """The `info` of a fine-tuned model; {} for any other model."""
        return self.info if "task" in self.info else {}

    @functools.cached_property
    def tensors(self):
        """The float32 arrays by official name."""
        with self._reading():
            return self.read()

    def release(self):
        """Drops the arrays; the next use of `tensors` reads them again."""
        vars(self).pop("tensors", None)

    def digest(self):
        """Returns a fingerprint of the weights that does not depend on their path."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.tensors.items()):
            found.update(f"{name} {tensor.shape}".encode())
            found.update(np.ascontiguousarray(tensor).tobytes())
        return found.hexdigest()

    def head(self, otherwise=()):
        """Returns the model class and the constructor arguments of its head.

        Both come from the folder's metadata or, without it, from the tensors.

        Args:
            otherwise: see `model_class`.
        """
        if self.saved:
            return self.saved
        model_class = self.model_class(otherwise)
        return model_class, self.head_arguments(model_class)

    def model_class(self, otherwise=()):
        """Returns the registered class that fits the tensors; see `registry.recognise`.

        Args:
            otherwise: Hugging Face model names that decide between classes with the
                same tensor names if the checkpoint does not name its class.
        """
        if TEXT_VECTORS in self.huggingface:
            return registry.model_for("similarity", self.family)
        names = architectures(self.huggingface) or otherwise
        return registry.recognise(self.tensors, self.family, names)

    def check_family(self, model_class):
        """Checks that `model_class` has the architecture of the folder.

        Raises:
            UserError: it does not; the message names both.
        """
        if self.family not in (None, model_class.family):
            raise UserError(
                f"{self.source} is of the {self.family.huggingface_type} family, but "
                f"{model_class.__name__} is of the "
                f"{model_class.family.huggingface_type} family; name a model of that "
                "family."
            )

    def config_for(self, model_class):
        """Returns the `ModelConfig` of the folder.

        Raises:
            UserError: there is none; the message names the file that `model_class` has.
        """
        if self.config is None:
            raise UserError(
                f"{self.source} has no {model_class.family.config_file} beside it; "
                "copy the file there."
            )
        return self.config

    def head_arguments(self, model_class):
        """Returns the head's constructor arguments according to `config.json`.

        Returns {} if the weights lack the head of the class.
        """
        head = model_class.head_names().keys()
        if not self.huggingface or (head and not self.tensors.keys() & head):
            return {}
        told = model_class.head_config_from_huggingface(self.huggingface)
        # A head without variables needs no weights.
        return model_class.resolve_arguments(told, {}, self.tensors if head else None)

    def task_info(self, model):
        """Returns the task and row length of a model built from here, or None."""
        saved_class, saved = self.saved or (None, {})
        info, head = {}, model.head_config()
        if saved_class is type(model):
            # A caller may have built the model with other labels.
            names = ("num_labels", "labels", "label_kind")
            if all(head.get(name) == saved.get(name) for name in names):
                info = self.info
        elif LONGEST in self.huggingface and self.head_arguments(type(model)):
            length = self.huggingface[LONGEST]
            info["max_seq_length"] = model.config.longest_row(length)
        kept = ("task", "max_seq_length")
        return {name: info[name] for name in kept if name in info} or None

    def brings_tokenizer(self):
        """Returns whether the folder contains or names its vocabulary."""
        return brings_tokenizer(self.path)

    def tokenizer(self, named=None, do_lower_case=None):
        """Loads the model's tokenizer.

        Args:
            named: a local file or directory to use instead of the folder's vocabulary.
            do_lower_case: see `load_tokenizer`.

        Raises:
            UserError: there is no tokenizer, or the folder contains a different one.
        """
        with self._reading():
            tokenizer = tokenizer_of(self.path, named, do_lower_case)
            return tokenizer or read_tokenizer(_folder_of(self.path), do_lower_case)

    def model(self, model_class=None, allow_missing=(), **arguments):
        """Builds the model and assigns the weights.

        Args:
            model_class: a `PretrainedModel`; by default see `head`.
            allow_missing: see `PretrainedModel.from_pretrained`.
            **arguments: constructor arguments, and config fields to override.

        Returns:
            The model, with its `load_report`.

        Raises:
            UserError: the folder does not fit the model.
        """
        model_class = model_class or self.head()[0]
        fields = {f.name for f in dataclasses.fields(model_class.family.config_class)}
        own = loading_arguments(model_class)
        own += arguments_of(model_class.from_pretrained)
        refuse_arguments(model_class.__name__, arguments, own)
        changes = {k: value for k, value in arguments.items() if k in fields}
        arguments = {k: value for k, value in arguments.items() if k not in fields}
        saved_class, head = self.saved or (None, {})
        is_saved = False
        if saved_class is model_class:
            arguments = model_class.resolve_arguments(head, arguments)
            is_saved = head.items() <= arguments.items() and not changes
        if is_saved:
            with self._reading():
                model = load_model_directory(
                    self.path, saved_class, self.config, arguments
                )
        else:
            self.check_family(model_class)
            config = self.config and dataclasses.replace(self.config, **changes)
            told = self.head_arguments(model_class)
            model = build_model(
                model_class, self, allow_missing, arguments, told, config
            )
            logging.info("%s", model.load_report)
        model.saved_task_info = self.task_info(model)
        if self.listed:
            checksums.check_unchanged(_folder_of(self.path), self.listed)
        return model

    @contextlib.contextmanager
    def _reading(self):
        """Verifies what the block reads against the checksums of the opened folder."""
        if self.path is None:
            yield
            return
        folder = _folder_of(self.path)
        try:
            with checksums.reading(folder, self.listed):
                yield
        except UserError:
            # A folder that was replaced meanwhile does not match its old checksums.
            checksums.check_unchanged(folder, self.listed)
            raise


def open(path, revision=None):
    """Opens a model folder of any format.

    Args:
        path: a model directory, an unpacked official archive or TF-Hub module, a
            TF1 checkpoint prefix, or a Hugging Face directory; or the name of a model
            to download, see `hub.names.local_directory`; or a `Bundle`.
        revision: branch, tag or commit of an "hf://" model.

    Returns:
        A `Bundle`. It reads its weights once, on first use, which raises if they are
        damaged.

    Raises:
        UserError: there is no model, or its metadata is damaged.
    """
    if isinstance(path, Bundle):
        return path
    path = os.fspath(local_directory(path, revision))
    with checksums.reading(_folder_of(path)) as listed:
        found = _opened(path)
    return dataclasses.replace(found, path=path, listed=listed)


def _folder_of(path):
    """Returns the folder of a model path, which may be a checkpoint prefix."""
    return path if storage.is_folder(path) else os.path.dirname(path) or "."


def _opened(path):
    if is_model_directory(path):
        return _of_model_directory(path)
    _refuse_adapter(path)
    if is_huggingface_directory(path):
        return _of_huggingface(path)
    prefix = find_tf1_prefix(path)
    if prefix:
        family, config = read_tf1_config(prefix)
        read_as, info = family and family.read_as, read_training_info(path)
        rename = family.from_official if family else dict
        return Bundle(
            prefix, config, lambda: rename(read_tf1_tensors(prefix)), read_as, info=info
        )
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
    """Refuses adapter weights such as LoRA's, which are no model by themselves."""
    for name in ADAPTER_FILES:
        if storage.exists(os.path.join(path, name)):
            raise UserError(
                f"{path} holds an adapter ({name}), which changes the weights of a "
                "model, and albert_tf reads whole models: load it with peft, and save "
                "model.merge_and_unload() with save_pretrained in a folder of its own; "
                "or take the adapter's files away to read the model without it."
            )


def _of_model_directory(path):
    model_class, head = read_head(path)
    family = model_class.family
    config_file = os.path.join(path, family.config_file)
    config = family.config_class.from_json_file(config_file)

    def read():
        model = load_model_directory(path, model_class, config, head)
        variables = model.official_variables()
        return {name: np.array(value) for name, value in variables.items()}

    info = read_training_info(path, head)
    saved, info = labels_in_both(model_class, head, info)
    return Bundle(path, config, read, family, saved=saved, info=info)


def _of_huggingface(path):
    family, config, entries = read_huggingface_config(path)
    read = functools.partial(
        read_huggingface_tensors,
        os.path.join(path, HUGGINGFACE_WEIGHTS),
        family,
        architectures(entries),
        getattr(config, "tie_word_embeddings", True),
    )
    entries |= read_settings(path, entries, config.row_layout.cls_last)
    info = read_training_info(path)
    return Bundle(path, config, read, family.read_as, entries, info=info)


def loading_arguments(*model_classes):
    """Lists the arguments of `Bundle.model`: the constructor's and config fields."""
    found = []
    for model_class in model_classes:
        fields = dataclasses.fields(model_class.family.config_class)
        found += [*constructor_arguments(model_class), *(own.name for own in fields)]
    return found


def without_adapters(model):
    """Merges depth adapters: returns an equivalent model with unshared layers.

    Args:
        model: a `PretrainedModel`; a model without adapters is returned unchanged.
    """
    if not model.config.depth_adapter_rank:
        return model
    tensors = {n: np.float32(v) for n, v in model.official_variables().items()}
    config, tensors = merge_adapters(model.config, tensors)
    bundle = Bundle(model.load_report.source, config, lambda: tensors)
    arguments = {**model.execution, **model.head_config(), "dtype": model.dtype_policy}
    merged = build_model(type(model), bundle, (), arguments)
    merged.saved_task_info = model.saved_task_info
    return merged


def build_model(model_class, opened, allow_missing, arguments, told=None, config=None):
    """Builds a model and assigns the weights of a `Bundle` to it.

    Args:
        model_class: a `PretrainedModel`.
        opened: the `Bundle`.
        allow_missing: see `PretrainedModel.from_pretrained`.
        arguments: dict of constructor arguments except the config.
        told: dict of head arguments from the folder; `arguments` override them.
        config: a `ModelConfig` to use instead of the folder's.

    Returns:
        The model, with its `load_report`.

    Raises:
        UserError: the weights do not fit the model.
    """
    opened.check_family(model_class)
    config = config or opened.config_for(model_class)
    arguments = model_class.resolve_arguments(told or {}, arguments, opened.tensors)
    model = model_class(config, **arguments)
    allow_missing = (*beginnings(allow_missing), *model.unused_variables)
    allow_missing += model.new_variables
    if model_class.head_may_be_new:
        allow_missing = (*allow_missing, *model.head_variables())
    model.load_report = assign_tensors(
        model, opened.tensors, opened.source, allow_missing
    )
    return model


def warm_start(model_class, opened, config, rule, allow_missing, **arguments):
    """Builds a model of `config` with the weights of a model of another depth.

    The paper trains deep networks from shallow ones: xxlarge from its first 6 layers
    (appendix A.1). `move_layers_and_adapters` maps the old layers to the new ones.

    Args:
        model_class: a `PretrainedModel`.
        opened: the `Bundle` of the other model.
        config: the `AlbertConfig` of the new model.
        rule: see `move_layers`.
        allow_missing: prefixes of official names that may be absent; the model then
            initializes these variables.
        **arguments: constructor arguments of the model.

    Returns:
        The model, and report lines with the origin of each part.

    Raises:
        UserError: the checkpoint does not fit, or its configuration differs in more
            than layers, groups, sharing and dropout.
    """
    opened.check_family(model_class)
    source = opened.config or config
    for field in dataclasses.fields(config):
        old, new = getattr(source, field.name), getattr(config, field.name)
        if old != new and field.name not in _MAY_DIFFER:
            raise UserError(
                f"{opened.source} has {field.name}={old}, but the new model has {new}; "
                f"the two may differ only in {', '.join(_MAY_DIFFER)}."
            )
    tensors, origins = move_layers_and_adapters(opened.tensors, source, config, rule)
    opened = dataclasses.replace(opened, config=config, read=lambda: tensors)
    model = build_model(model_class, opened, allow_missing, arguments)
    return model, _report_of_layers(model.load_report, source, config, origins)


def _report_of_layers(load_report, source, config, origins):
    lines = [
        f"Starting from {load_report}",
        f"  layers: {config.num_hidden_layers}, from {source.num_hidden_layers}",
    ]

    def short(scope):
        return scope.split("transformer/")[-1]

    for (scope, is_feed_forward), scopes in origins.items():
        if scopes != [scope]:
            part = "feed-forward layer" if is_feed_forward else "attention"
            whose = ", ".join(map(short, dict.fromkeys(scopes)))
            whose = f"the mean of {whose}" if len(scopes) > 1 else whose
            lines.append(f"  {short(scope)}, {part}: from {whose}")
    ranks = config.depth_adapter_rank, source.depth_adapter_rank
    if any(ranks):
        lines.append("  rank of depth adapters: {}, from {}".format(*ranks))
    return [*lines, "  optimizer, schedule and place in the data: new"]


def push(model, name, tokenizer, training_info, form, private, told):
    """Uploads a model; see `PretrainedModel.push_to_hub`."""
    check_upload(name)
    with tempfile.TemporaryDirectory() as folder:
        save(model, folder, tokenizer, training_info, form, told, name)
        return upload(folder, name, private)


def save(model, directory, tokenizer, training_info, form, told=None, name=None):
    """Writes a model folder; see `PretrainedModel.save_pretrained` and `write_card`."""
    if form not in FORMATS:
        raise UserError(f"format={form!r}: expected one of {', '.join(FORMATS)}.")
    if form != "model_directory":
        model.require_official_head(form)
    directory = os.fspath(directory)
    _refuse_hidden(directory, form)
    vocabulary = _vocabulary_that_goes(directory, model, tokenizer)
    info = model.task_info() if training_info is None else training_info
    parts = {
        *itertools.chain(*_SEARCHED.values()),
        *(family.config_file for family in readable_families()),
        *itertools.chain(*(family.program_files for family in readable_families())),
        *sentence_transformers.FILES,
        *vocabulary,
    }

    def is_stale(name, is_listed):
        # Checksums do not list files of these names that another program put there.
        return name in _ONLY_OURS or (is_listed and name in parts)

    with replacing(directory, is_stale) as folder, ChecksummedFolder(folder):
        if form == "model_directory":
            save_model_directory(model, folder, tokenizer, info)
        elif form == "tf1":
            save_tf1_checkpoint(model, os.path.join(folder, BEST_CHECKPOINT))
        else:
            save_huggingface(model, folder, tokenizer)
        if tokenizer is not None and form != "model_directory":
            tokenizer = tokenizer.laid_out(model.config.row_layout)
            # A `CrossEncoder` has one output, and its longest row in this file.
            is_one = getattr(model, "num_labels", None) == 1
            longest = (info or {}).get("max_seq_length") if is_one else None
            save_for_others(tokenizer, folder, form, longest)
    if form != "model_directory":
        _tell_of_long_texts(info or {}, form)
    facts = training_info or model.task_info() or {}
    write_card(directory, model, facts, form, told, name)


def _tell_of_long_texts(info, form):
    """Warns if a model for other programs reads more than the beginning of texts."""
    long_texts = info.get("task", {}).get("long_texts")
    if long_texts:
        logging.warning(
            "format=%s has no place for long_texts=%s: programs that read it truncate "
            "long texts.",
            *(form, long_texts),
        )


def _refuse_hidden(directory, form):
    """Refuses a folder with a foreign model that `open` would read instead."""
    listed = checksums.read(directory)
    for other, names in _SEARCHED.items():
        if other == form:
            return
        paths = [os.path.join(directory, name) for name in names]
        if names[-1] not in listed and all(map(storage.exists, paths)):
            raise UserError(
                f"{paths[-1]} would be read instead of a model in the form {form} that "
                "is saved beside it; choose another folder."
            )


def _vocabulary_that_goes(directory, model, tokenizer):
    """Lists the vocabulary files to remove from `directory`.

    Without a new tokenizer, the folder keeps a vocabulary that was saved there on its
    own or that the model was loaded with.
    """
    names = saved_files(directory)
    if tokenizer is not None or not names:
        return names
    report = getattr(model, "load_report", None)
    is_from_there = report and storage.is_same(report.source, directory)
    if is_from_there or was_saved_alone(directory):
        return set()
    logging.warning(
        "%s: %s, of the model that was there, is removed; pass tokenizer= to save the "
        "vocabulary of this one.",
        directory,
        " and ".join(sorted(names)),
    )
    return names
