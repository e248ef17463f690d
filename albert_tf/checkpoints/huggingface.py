"""Hugging Face directories: `config.json` and `model.safetensors`, or its parts."""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.families import registry
from albert_tf.families.head_variables import OUTPUT_EMBEDDINGS
from albert_tf.families.readable import family_that_writes
from albert_tf.families.readable import readable_families
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder

if TYPE_CHECKING:
    import keras

    from albert_tf.checkpoints.assignment import LoadReport

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
ADAPTER_FILES = (
    "adapter_config.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
)
"""Weight files of peft and adapters, which add to a base model's weights."""
PICKLED_FILES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""Weight files whose reading can run arbitrary code."""


def load_huggingface_checkpoint(
    model: "keras.Model", path: str | os.PathLike, allow_missing: Collection[str] = ()
) -> "LoadReport":
    """Loads the tensors of a Hugging Face directory into `model`.

    Args:
        model: a model of this package.
        path: the directory, or its `model.safetensors`.
        allow_missing: official names, or name prefixes, that may be absent and then
            keep their initial values.

    Returns:
        A `LoadReport`.

    Raises:
        UserError: the file is missing or does not fit the model.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        path = os.path.join(path, WEIGHTS_FILE)
    names = [model.huggingface_architecture()]
    is_tied = getattr(model.config, "tie_word_embeddings", True)
    family = family_that_writes(model)
    tensors = read_huggingface_tensors(path, family, names, is_tied)
    return assign_tensors(model, tensors, path, allow_missing)


def is_huggingface_directory(path):
    """Returns whether `path` has the files of a Hugging Face model."""
    config, *weights = (
        os.path.isfile(os.path.join(path, name))
        for name in (CONFIG_FILE, WEIGHTS_FILE, INDEX_FILE)
    )
    return config and any(weights)


def read_huggingface_config(directory):
    """Reads `config.json`.

    Returns:
        The `ModelFamily`, the config and the dict of entries.

    Raises:
        UserError: the file describes a model that this package does not have.
    """
    path = os.path.join(directory, CONFIG_FILE)
    entries = read_json_object(path)
    families = readable_families()
    types = [family.huggingface_type for family in families]
    model_type = entries.get("model_type", types[0])
    if model_type not in types:
        raise UserError(
            f"{path} sets model_type to {model_type!r}, expected "
            f"{' or '.join(map(repr, types))}."
        )
    family = families[types.index(model_type)]
    config = family.config_from_huggingface(entries, path)
    return family, config, family.entries_from_huggingface(entries)


def architectures(entries):
    """Reads Hugging Face's names of a model from the entries of its `config.json`."""
    names = entries.get("architectures")
    return names if isinstance(names, list) else []


def read_huggingface_tensors(path, family, architectures, is_tied=True):
    """Reads a safetensors file or its shards: float32 arrays by official name.

    Tensors without an official name keep Hugging Face's.

    Args:
        path: the file; if it does not exist, the index beside it names the shards.
        family: the model's `ModelFamily`.
        architectures: Hugging Face's names of the model.
        is_tied: see `ModelFamily.tensors_from_huggingface`.

    Raises:
        UserError: the file is missing or damaged.
    """
    index = os.path.join(os.path.dirname(path), INDEX_FILE)
    is_in_parts = not os.path.isfile(path) and os.path.isfile(index)
    theirs = _read_parts(index) if is_in_parts else _read_file(path)
    prefix = f"{family.encoder}."
    if not any(name.startswith(prefix) for name in theirs):
        # The bare encoder is saved without the prefix.
        theirs = {prefix + name: tensor for name, tensor in theirs.items()}
    theirs = family.names_from_huggingface(theirs, architectures)
    names = registry.head_names(family.read_as, architectures)
    return family.tensors_from_huggingface(theirs, names, path, is_tied)


def _read_parts(index):
    """Reads the tensors that a `model.safetensors.index.json` lists."""
    files = read_json_object(index).get("weight_map")
    names = files.values() if isinstance(files, dict) else [None]
    if not all(map(storage.is_name, names)):
        raise UserError(
            f"{index} has no weight_map from tensors to files beside it; copy the file "
            "again."
        )
    folder = os.path.dirname(index)
    parts = {name: _read_file(os.path.join(folder, name)) for name in {*names}}
    for tensor, name in files.items():
        if tensor not in parts[name]:
            raise UserError(
                f"{index} says that {name} holds {tensor}, which it does not; copy "
                "both files again."
            )
    return {tensor: parts[name][tensor] for tensor, name in files.items()}


def _read_file(path):
    if not os.path.isfile(path):
        raise UserError(f"There is no file {path}.")
    checksums.check_weights(path, path)
    safetensors = _safetensors()
    try:
        return safetensors.numpy.load_file(path)
    except AttributeError as error:  # of a name of NumPy's
        raise UserError(
            f"{path} holds a type of numbers that NumPy does not have ({error}); "
            "expected float32, float16 or bfloat16."
        ) from error
    except (
        KeyError,
        OSError,
        TypeError,
        ValueError,
        safetensors.SafetensorError,
    ) as error:
        raise UserError(f"{path} is damaged: {error}.") from error


def save_huggingface(model, directory, tokenizer=None):
    """Writes `config.json` and `model.safetensors` that `transformers` loads.

    Blocks that none of its classes computes bring a program; see `families.albert_tf`.
    A model that shares only some sublayers gets as many groups as layers; a model
    without an embedding mapping gets the identity. Unused weights that were missing
    when the model was loaded are not written. `config.json` has the special tokens of
    `tokenizer`, if it is given.
    """
    safetensors = _safetensors()
    family, architecture = family_that_writes(model), model.huggingface_architecture()
    report, unread = getattr(model, "load_report", None), (*model.unused_variables,)
    untrained = [n for n in report.missing if n.startswith(unread)] if report else []
    arrays = {
        name: np.array(variable)
        for name, variable in model.official_variables().items()
        if name not in untrained
    }
    names = {**model.head_names(), OUTPUT_EMBEDDINGS.official: OUTPUT_EMBEDDINGS[2]}
    entries, theirs = family.to_huggingface(model.config, arrays, names, architecture)
    bare = model.encoder() is model
    prefix = f"{family.encoder}."
    tensors = {
        name.removeprefix(prefix) if bare else name: np.ascontiguousarray(array)
        for name, array in theirs.items()
    }
    weights = safetensors.numpy.save(tensors, metadata={"format": "pt"})
    entries = {
        "architectures": [family.architecture(architecture)],
        "model_type": family.huggingface_type,
        **entries,
        **(family.special_tokens(tokenizer) if tokenizer else {}),
        **model.head_config_to_huggingface(),
    }
    with ChecksummedFolder(directory) as folder:
        folder.write(WEIGHTS_FILE, weights)
        folder.write_json(CONFIG_FILE, entries)
        for name, values in model.huggingface_files().items():
            folder.write_json(name, values)
        for name, data in family.programs().items():
            folder.write(name, data)


def _safetensors():
    with of_extra("convert", "Hugging Face files need the package safetensors"):
        import safetensors.numpy
    return safetensors
