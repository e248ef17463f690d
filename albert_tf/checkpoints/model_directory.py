"""The model directory: the form in which this project keeps a model.

albert_config.json      the encoder
head.json               the model class and the arguments of its head
model.weights.h5        the weights, as Keras writes them
training_info.json      steps, data, metrics (optional)
tokenizer_config.json   and the tokenizer's own files (optional)
"""

import os

import keras

import albert_tf
from albert_tf import storage
from albert_tf.checkpoints.assignment import LoadReport
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.files import write_json

CONFIG_FILE = "albert_config.json"
HEAD_FILE = "head.json"
WEIGHTS_FILE = "model.weights.h5"
TRAINING_INFO_FILE = "training_info.json"


def is_model_directory(path):
    """Whether `save_model_directory` wrote `path`."""
    return storage.exists(os.path.join(path, WEIGHTS_FILE))


def save_model_directory(model, directory, tokenizer=None, training_info=None):
    """Writes `model`; every file appears under its name only when complete.

    Args:
        model: a `PretrainedModel`.
        directory: created if need be.
        tokenizer: saved beside the weights.
        training_info: a dict for `training_info.json`.
    """
    weights = os.path.join(directory, WEIGHTS_FILE)
    with storage.written_locally(weights, ".weights.h5") as temporary:
        model.save_weights(temporary)
    if tokenizer is not None:
        tokenizer.save(directory)
    if training_info is not None:
        write_json(os.path.join(directory, TRAINING_INFO_FILE), training_info)
    head = {"model": type(model).__name__, **model.head_config()}
    write_json(os.path.join(directory, HEAD_FILE), head)
    model.config.to_json_file(os.path.join(directory, CONFIG_FILE))


def read_head(directory):
    """Returns the model class and the head arguments of a model directory.

    Raises:
        UserError: `head.json` is missing or names no model class.
    """
    path = os.path.join(directory, HEAD_FILE)
    head = read_json_object(path)
    name = head.pop("model", None)
    model_class = getattr(albert_tf, str(name), None)
    if not (isinstance(model_class, type) and issubclass(model_class, keras.Model)):
        raise UserError(f"{path} names the model {name!r}, which is none of albert_tf.")
    return model_class, head


def load_model_directory(directory, **arguments):
    """Builds the model that was saved and loads all its weights.

    Args:
        directory: what `save_model_directory` wrote.
        **arguments: constructor arguments beside those that were saved.

    Returns:
        The model, with its `load_report`.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    model_class, head = read_head(directory)
    config = AlbertConfig.from_json_file(os.path.join(directory, CONFIG_FILE))
    try:
        model = model_class(config, **{**head, **arguments})
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{os.path.join(directory, HEAD_FILE)} does not describe an "
            f"{model_class.__name__} of this version of albert_tf: {error}"
        ) from error
    weights = os.path.join(directory, WEIGHTS_FILE)
    try:
        with storage.read_locally(weights) as path:
            model.load_weights(path)
    except (KeyError, OSError, ValueError) as error:
        raise UserError(
            f"{weights} is damaged or does not fit {CONFIG_FILE} and {HEAD_FILE} "
            "beside it."
        ) from error
    model.load_report = LoadReport(str(directory), tuple(model.official_variables()))
    return model
