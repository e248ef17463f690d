"""The model directory: this project's own format.

albert_config.json      the encoder (named as the family's `config_file`)
head.json               the model class and the arguments of its head
model.weights.h5        the weights, as Keras writes them
training_info.json      steps, data, metrics (optional)
tokenizer_config.json   and the tokenizer's own files (optional)
SHA256SUMS              the checksums of all of them
"""

import io
import os

import h5py

from albert_tf.checkpoints.assignment import LoadReport
from albert_tf.checkpoints.assignment import require_finite
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_json_if_there
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole

HEAD_FILE = "head.json"
WEIGHTS_FILE = "model.weights.h5"
TRAINING_INFO_FILE = "training_info.json"


def is_model_directory(path):
    """Returns whether `save_model_directory` wrote `path`.

    Raises:
        UserError: a file that was written is gone.
    """
    require_whole(path)
    return storage.exists(os.path.join(path, WEIGHTS_FILE))


def save_model_directory(model, directory, tokenizer=None, training_info=None):
    """Writes `model`; every file appears under its name only when complete.

    Args:
        model: a `PretrainedModel`.
        directory: created if it does not exist.
        tokenizer: saved beside the weights.
        training_info: a dict for `training_info.json`; the labels of its task, which
            `head.json` has, are left out.

    Raises:
        UserError: the model and the task in `training_info` name other labels.
    """
    # HDF5 kills the process if it cannot write a file, for example on a full disk.
    weights = _InMemory()
    model.save_weights(weights)
    head = {"model": type(model).__name__, **model.head_config()}
    _check_labels(head, training_info or {}, directory)
    config_file = model.family.config_file
    with ChecksummedFolder(directory) as folder:
        folder.write(WEIGHTS_FILE, weights.getbuffer())
        if tokenizer is not None:
            tokenizer.laid_out(model.config.row_layout).write_into(folder)
        if training_info is not None:
            info = dict(training_info)
            if "task" in info and head.get("labels"):
                task = info["task"].items()
                info["task"] = {name: own for name, own in task if name != "labels"}
            folder.write_json(TRAINING_INFO_FILE, info)
        folder.write_json(HEAD_FILE, head)
        model.config.to_json_file(os.path.join(directory, config_file))
        folder.add(config_file)


class _InMemory(io.BytesIO):
    """A buffer whose name makes Keras take it for a file of weights."""

    def __str__(self):
        return WEIGHTS_FILE


def read_head(directory):
    """Returns the model class and the head arguments of a model directory.

    Raises:
        UserError: `head.json` is missing or names no model class.
    """
    path = os.path.join(directory, HEAD_FILE)
    head = read_json_object(path)
    name = head.pop("model", None)
    try:
        return registry.model_class(name), head
    except UserError as error:
        raise UserError(f"{path} names the model {name!r}. {error}") from error


def _check_labels(head, training_info, directory):
    """Refuses different labels in `head.json` and `training_info.json`."""
    task = training_info.get("task", {})
    named, told = head.get("labels"), task.get("labels")
    are_lists = isinstance(named, list | tuple) and isinstance(told, list | tuple)
    if are_lists and named and told and list(named) != list(told):
        raise UserError(
            f"{directory}: {HEAD_FILE} has the labels {', '.join(map(str, named))}, "
            f"but {TRAINING_INFO_FILE} has {', '.join(map(str, told))}; their order "
            "says which output means which: write the same in both."
        )


def labels_in_both(model_class, head, info):
    """Puts a model's labels into both its head arguments and its task.

    Labels belong in `head.json`; earlier versions wrote them also, or only, into the
    task.

    Returns:
        The class with the head's arguments, and the content of `training_info.json`.
    """
    task, count = info.get("task", {}), head.get("num_labels")
    labels = head.get("labels") or task.get("labels")
    takes_labels = hasattr(model_class, "label_arguments")
    is_list = isinstance(labels, list) and len(labels) == count
    if not (takes_labels and task and labels and is_list):
        return (model_class, head), info
    kind = {"label_kind": "multi_label"} if task.get("kind") == "multi_label" else {}
    head = {**head, **kind, "labels": labels}
    return (model_class, head), {**info, "task": {**task, "labels": labels}}


def read_training_info(directory, head=None):
    """Reads `training_info.json`, which may have any other keys; {} without the file.

    Args:
        directory: the model directory.
        head: the head arguments beside it, if they have been read.

    Raises:
        UserError: the file is not a JSON object, a value is invalid, its labels differ
            from the labels in `head.json`, or a file beside it is gone.
    """
    if head is None:
        require_whole(directory)
    path = os.path.join(directory, TRAINING_INFO_FILE)
    info = read_json_if_there(path)
    for name, least in (("max_seq_length", 1), ("step", 0)):
        value = info.get(name, least)
        if type(value) is not int or not least <= value < 2**63:
            raise UserError(
                f"{path} sets {name} to {value!r}, expected an integer of at least "
                f"{least}; the file is damaged."
            )
    if not isinstance(info.get("task", {}), dict):
        raise UserError(f"{path} sets task to {info['task']!r}, expected an object.")
    if head is None and "task" in info:
        head = read_json_if_there(directory, HEAD_FILE)
    _check_labels(head or {}, info, directory)
    return info


def load_model_directory(directory, model_class, config, arguments):
    """Builds the saved model and loads all its weights.

    Args:
        directory: a folder that `save_model_directory` wrote.
        model_class, config: of the model, see `read_head`.
        arguments: dict of constructor arguments, those of the head among them.

    Returns:
        The model, with its `load_report`.

    Raises:
        UserError: a file is missing or does not fit the others.
    """
    family = model_class.family
    config_file = os.path.join(directory, family.config_file)
    weights = os.path.join(directory, WEIGHTS_FILE)
    try:
        with storage.read_locally(weights) as path:
            checksums.check_weights(weights, path)
            _check_size(config_file, family.encoder_parameters(config), path)
            _refuse_other_files(weights, path)
            model = _build(model_class, config, arguments, directory)
            model.load_weights(path)
            require_finite(model.official_variables(), weights)
    except UserError:
        raise
    except Exception as error:  # h5py raises many types, even RuntimeError
        raise UserError(
            f"{weights} is damaged or does not fit {family.config_file} and "
            f"{HEAD_FILE} beside it."
        ) from error
    model.load_report = LoadReport(str(directory), tuple(model.official_variables()))
    return model


def _check_size(config_file, parameters, weights):
    """Refuses a configuration larger than the weights, before it fills the memory."""
    held = os.path.getsize(weights)
    if parameters > held:  # each takes at least a byte
        raise UserError(
            f"{WEIGHTS_FILE} is damaged, or {config_file} belongs to another model: "
            f"it describes an encoder of {parameters:,} parameters, but the weights "
            f"have {held:,} bytes; copy both again."
        )


def _refuse_other_files(weights, path):
    """Refuses links to data in other files, which HDF5 allows and Keras follows."""
    found = []
    with h5py.File(path) as file:
        file.visititems_links(
            lambda _, link: found.append(isinstance(link, h5py.ExternalLink))
        )
        file.visititems(
            lambda _, item: found.append(
                isinstance(item, h5py.Dataset)
                and bool(item.external or item.is_virtual)
            )
        )
    if any(found):
        raise UserError(
            f"{weights} names other files to read weights from; save the model again "
            "with its weights in this file."
        )


def _build(model_class, config, arguments, directory):
    try:
        return model_class(config, **arguments)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{os.path.join(directory, HEAD_FILE)} does not describe an "
            f"{model_class.__name__} of this version of albert_tf: {error}"
        ) from error
