"""Families of models: the parts of an architecture that checkpoints depend on."""

import abc
import types
from collections.abc import Mapping

import numpy as np

from albert_tf.errors import UserError


class ModelFamily(abc.ABC):
    """Configuration files and variable names of the encoder of a family of models.

    A model class names its family in `family`; reading, writing and converting ask
    it for whatever differs between architectures.

    Attributes:
        config_class: the class of the models' `config`, as `AlbertConfig`.
        config_file: the name of its file, beside official checkpoints and in model
            directories.
        huggingface_type: the `model_type` in Hugging Face's `config.json`.
        encoder: the attribute that holds the encoder in a model with a head; the
            Hugging Face names of its variables begin with it.
        tied: Hugging Face's names of tied tensors by those of the copies that some
            versions of the library wrote.
        known_heads: beginnings of the official names of heads that a checkpoint may
            hold; a model without that head skips them.
        alone: the fields of a config by which its model reads texts one by one, when a
            pretraining's are others.
    """

    config_class: type
    config_file: str
    huggingface_type: str
    encoder: str
    tied: Mapping
    known_heads: tuple
    alone: Mapping = types.MappingProxyType({})

    @property
    def read_as(self):
        """The family whose models the checkpoints become."""
        return self

    def encoder_parameters(self, config):
        """Counts the parameters that an encoder has at least, without building it."""
        return 0

    def config_from_official(self, path):
        """Reads the config in the file beside an official checkpoint.

        Raises:
            UserError: the file is damaged.
        """
        return self.config_class.from_json_file(path)

    def from_official(self, tensors):
        """Returns an official checkpoint's tensors by the names of this project.

        Args:
            tensors: arrays by the names in the checkpoint.
        """
        return tensors

    @abc.abstractmethod
    def to_official(self, config, tensors):
        """Returns the same function in the terms of the official code.

        Args:
            config: a `config_class`.
            tensors: arrays by official name.

        Returns:
            (config, tensors) that the official code can express.
        """

    def architecture(self, name):
        """Returns Hugging Face's name of the model that `read_as` has by `name`."""
        return name

    def entries_from_huggingface(self, entries):
        """Returns a `config.json`'s entries as the models of this package read them."""
        return entries

    @abc.abstractmethod
    def config_from_huggingface(self, entries, path):
        """Makes the config that the entries of a `config.json` describe.

        Args:
            entries: the dict that was read.
            path: the file's name in messages.

        Raises:
            UserError: a value under which their model computes another function.
        """

    def official_name(self, theirs):
        """Returns the official name of Hugging Face's tensor; None if unknown.

        A family has this and `tied`, or its own `tensors_from_huggingface`.
        """
        raise NotImplementedError

    def tensors_from_huggingface(self, tensors, head_names, path):
        """Returns float32 arrays by official name; an unnamed tensor keeps its own.

        Args:
            tensors: arrays by Hugging Face name.
            head_names: Hugging Face's names of the heads' variables by official name.
            path: the file's name in messages.

        Raises:
            UserError: a tensor contradicts another one.
        """
        theirs = untied(tensors, self.tied, path)
        theirs.pop(f"{self.encoder}.embeddings.position_ids", None)
        heads = {name: official for official, name in head_names.items()}
        found = {}
        for name, tensor in theirs.items():
            official = heads.get(name) or self.official_name(name) or name
            found[official] = as_float32(turned(official, tensor), name, path)
        return found

    @abc.abstractmethod
    def to_huggingface(self, config, tensors, head_names, architecture=None):
        """Returns the same function in the terms of Hugging Face.

        Args:
            config: a `config_class`.
            tensors: arrays by official name.
            head_names: Hugging Face's names of the head's variables by official name.
            architecture: its name of the model class.

        Returns:
            (entries of `config.json`, arrays by Hugging Face name)
        """


def require_entries(entries, required, path):
    """Refuses a `config.json` under which their model computes another function.

    Args:
        entries: the dict that was read.
        required: the values that entries must have where they are there.
        path: the file's name in messages.

    Raises:
        UserError: it names the entry.
    """
    for key, value in required.items():
        if entries.get(key, value) != value:
            raise UserError(
                f"{path} sets {key} to {entries[key]!r}, expected {value!r}."
            )


def our_activation(entries, key, default, names, path):
    """Returns our name of the activation in a `config.json`.

    Args:
        entries: the dict that was read.
        key: of the activation.
        default: their name of it where the file has none.
        names: our names by theirs.
        path: the file's name in messages.

    Raises:
        UserError: we have no such activation.
    """
    activation = entries.get(key, default)
    if activation not in list(names):  # it may be no string
        raise UserError(
            f"{path} sets {key} to {activation!r}, expected one of {', '.join(names)}."
        )
    return names[activation]


def untied(tensors, tied, path):
    """Drops the copies of tied tensors from a foreign checkpoint.

    Args:
        tensors: arrays by name.
        tied: the names of originals by their copies' names.
        path: the file they come from, for messages.

    Raises:
        UserError: a copy differs from its original.
    """
    kept = dict(tensors)
    for copy, original in tied.items():
        tensor = kept.pop(copy, None)
        if tensor is not None and not np.array_equal(tensor, kept.get(original)):
            raise UserError(f"{path} holds a {copy} that differs from {original}.")
    return kept


def turned(official, tensor):
    """Turns kernels between our form, `[in, out]`, and theirs; not XLNet's of heads."""
    is_kernel = official.endswith("/kernel") and tensor.ndim == 2
    return tensor.T if is_kernel else tensor


def as_float32(tensor, name, path):
    """Converts a foreign checkpoint's tensor to a contiguous float32 array.

    Args:
        tensor: the array.
        name: its name, for the message.
        path: the file it comes from, for messages.

    Raises:
        UserError: it holds no floating-point numbers.
    """
    if tensor.dtype.kind != "f" and tensor.dtype.name != "bfloat16":
        raise UserError(
            f"{path} holds {name} as {tensor.dtype.name}; expected float32, float16 or "
            "bfloat16."
        )
    return np.ascontiguousarray(tensor, dtype=np.float32)
