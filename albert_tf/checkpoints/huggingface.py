"""Hugging Face directories: `config.json` and `model.safetensors`."""

import dataclasses
import os

import numpy as np

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.huggingface_names import huggingface_name
from albert_tf.checkpoints.huggingface_names import official_name
from albert_tf.checkpoints.unshare import unshare
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.files import write_atomically
from albert_tf.files import write_json

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"

# Their "gelu" is the exact function; that of the official code is "gelu_new".
_OUR_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu",
    "linear": "linear",
    "relu": "relu",
    "tanh": "tanh",
}
_THEIR_ACTIVATIONS = {ours: theirs for theirs, ours in _OUR_ACTIVATIONS.items()}
_SAME_KEYS = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_hidden_groups",
    "num_attention_heads",
    "intermediate_size",
    "inner_group_num",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
)
# Under other values their model computes another function than ours.
_REQUIRED = {
    "layer_norm_eps": 1e-12,
    "model_type": "albert",
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
}
_ENCODER = "albert."
_MAPPING = "bert/encoder/embedding_hidden_mapping_in"
_BUFFER = "albert.embeddings.position_ids"
# Copies of tied tensors, which some versions of their library wrote.
_TIED = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}


def load_huggingface_checkpoint(model, path, allow_missing=()):
    """Loads the tensors of a Hugging Face directory into `model`.

    Args:
        model: a model of this package.
        path: the directory, or its `model.safetensors`.
        allow_missing: official names, or beginnings of names, that may be absent
            and then keep their initial values.

    Returns:
        A `LoadReport`.

    Raises:
        UserError: there is no such file, or it does not fit the model.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        path = os.path.join(path, WEIGHTS_FILE)
    return assign_tensors(model, read_huggingface_tensors(path), path, allow_missing)


def is_huggingface_directory(path):
    """Whether `path` has the files of a Hugging Face model."""
    return all(
        os.path.isfile(os.path.join(path, name)) for name in (CONFIG_FILE, WEIGHTS_FILE)
    )


def read_huggingface_config(directory):
    """Reads `config.json` as an `AlbertConfig`.

    Raises:
        UserError: a value under which their model is not an ALBERT as ours.
    """
    path = os.path.join(directory, CONFIG_FILE)
    theirs = read_json_object(path)
    for key, value in _REQUIRED.items():
        if theirs.get(key, value) != value:
            raise UserError(
                f"{path} sets {key} to {theirs[key]!r}, expected {value!r}."
            )
    activation = theirs.get("hidden_act", "gelu_new")
    if activation not in _OUR_ACTIVATIONS:
        raise UserError(
            f"{path} sets hidden_act to {activation!r}, expected one of "
            f"{', '.join(_OUR_ACTIVATIONS)}."
        )
    ours = {key: theirs[key] for key in _SAME_KEYS if key in theirs}
    ours["hidden_act"] = _OUR_ACTIVATIONS[activation]
    config = AlbertConfig.from_dict(ours, source=path)
    equal = config.embedding_size == config.hidden_size
    return dataclasses.replace(config, always_map_embeddings=equal)


def read_huggingface_tensors(path):
    """Reads a safetensors file: float32 arrays by official name.

    Tensors without an official name keep theirs.

    Raises:
        UserError: there is no such file, or it is damaged.
    """
    if not os.path.isfile(path):
        raise UserError(f"There is no file {path}.")
    safetensors = _safetensors()
    try:
        theirs = safetensors.numpy.load_file(path)
    except (KeyError, OSError, safetensors.SafetensorError) as error:
        raise UserError(f"{path} is damaged: {error}.") from error
    if not any(name.startswith(_ENCODER) for name in theirs):
        # The bare encoder is saved without the prefix.
        theirs = {_ENCODER + name: tensor for name, tensor in theirs.items()}
    theirs.pop(_BUFFER, None)
    for copy, original in _TIED.items():
        tensor = theirs.pop(copy, None)
        if tensor is not None and not np.array_equal(tensor, theirs.get(original)):
            raise UserError(f"{path} holds a {copy} that differs from {original}.")
    tensors = {}
    for name, tensor in theirs.items():
        official = official_name(name) or name
        if official.endswith("/kernel"):
            tensor = tensor.T  # theirs are [out, in]
        tensors[official] = np.ascontiguousarray(tensor, dtype=np.float32)
    return tensors


def save_huggingface(model, directory):
    """Writes `config.json` and `model.safetensors` that `transformers` loads.

    A model that shares only some sublayers is written with as many groups as
    layers, which their model can express; one that does not map its embeddings gets
    the identity as mapping.

    Args:
        model: a model of this package.
        directory: created if need be.
    """
    safetensors = _safetensors()
    os.makedirs(directory, exist_ok=True)
    arrays = {name: np.array(v) for name, v in model.official_variables().items()}
    config, arrays = unshare(model.config, arrays)
    if not config.has_embedding_mapping:
        # Their model always has one.
        arrays[f"{_MAPPING}/kernel"] = np.eye(config.hidden_size, dtype=np.float32)
        arrays[f"{_MAPPING}/bias"] = np.zeros(config.hidden_size, np.float32)
    bare = type(model).__name__ == "AlbertModel"
    tensors = {}
    for official, array in arrays.items():
        name = huggingface_name(official)
        array = array.T if official.endswith("/kernel") else array
        name = name.removeprefix(_ENCODER) if bare else name
        tensors[name] = np.ascontiguousarray(array)
    weights = os.path.join(directory, WEIGHTS_FILE)
    data = safetensors.numpy.save(tensors, metadata={"format": "pt"})
    write_atomically(weights, data)
    write_json(os.path.join(directory, CONFIG_FILE), _their_config(model, config))


def _their_config(model, config):
    theirs = {
        "architectures": [type(model).__name__],
        **_REQUIRED,
        **{key: getattr(config, key) for key in _SAME_KEYS},
        "hidden_act": _THEIR_ACTIVATIONS[config.hidden_act],
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
    }
    head = model.head_config()
    if "num_labels" in head:
        labels = {f"LABEL_{i}": i for i in range(head["num_labels"])}
        theirs["label2id"] = labels
        theirs["id2label"] = {str(i): label for label, i in labels.items()}
        theirs["classifier_dropout_prob"] = head["classifier_dropout_prob"]
    return theirs


def _safetensors():
    try:
        import safetensors.numpy
    except ImportError as error:
        raise UserError(
            "Hugging Face files need the package safetensors: "
            "pip install albert-tf[convert]."
        ) from error
    return safetensors
