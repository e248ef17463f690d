"""Official TF1 checkpoints and the variables of TF-Hub modules.

Functions import TensorFlow when they need it: models on other Keras backends import
this module, too.
"""

import glob
import os
import re
import tempfile
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.errors import UserError
from albert_tf.families.readable import readable_families
from albert_tf.io import storage
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole

if TYPE_CHECKING:
    import keras

    from albert_tf.checkpoints.assignment import LoadReport

BEST_CHECKPOINT = "model.ckpt-best"
ENDINGS = ("data-00000-of-00001", "index")
"""Suffixes of a checkpoint's files."""

# Optimizer slots and counters: state of a training run, not of the model.
_NOT_WEIGHTS = re.compile(r"(^|/)(adam_[mv]|lamb_[mv]|global_step)(_\d+)?$")
_HUB_SCOPE = "module/"
_HUB_VARIABLES = os.path.join("variables", "variables")


def load_tf1_checkpoint(
    model: "keras.Model", prefix: str | os.PathLike, allow_missing: Collection[str] = ()
) -> "LoadReport":
    """Loads an official TF1 checkpoint into `model`.

    Optimizer slots and counters are ignored.

    Args:
        model: a model of this package.
        prefix: the checkpoint, such as "dir/model.ckpt-best" (no file ending).
        allow_missing: official names, or name prefixes, that may be absent and then
            keep their initial values.

    Returns:
        A `LoadReport`.

    Raises:
        UserError: the checkpoint is missing or does not fit the model.
    """
    prefix = os.fspath(prefix)
    tensors = model.family.from_official(read_tf1_tensors(prefix))
    return assign_tensors(model, tensors, prefix, allow_missing)


def load_tfhub_variables(
    model: "keras.Model",
    directory: str | os.PathLike,
    allow_missing: Collection[str] = (),
) -> "LoadReport":
    """Loads an unpacked TF-Hub module, `variables/variables.*` in `directory`.

    The published modules lack the sentence-order head: for a pretraining model, put
    "cls/seq_relationship" in `allow_missing`. See `load_tf1_checkpoint` for the rest.
    """
    prefix = os.path.join(directory, _HUB_VARIABLES)
    return load_tf1_checkpoint(model, prefix, allow_missing)


def save_tf1_checkpoint(model, prefix):
    """Writes a checkpoint with the official names, without rounding, and its config.

    `tf.train.load_checkpoint` and the official code read it. A model that shares only
    some sublayers gets as many groups as layers.

    Args:
        model: a model of this package.
        prefix: the checkpoint, such as "dir/model.ckpt-best"; the configuration, such
            as "albert_config.json", is written beside it.
    """
    import tensorflow as tf

    prefix = os.fspath(prefix)
    arrays = {name: np.array(v) for name, v in model.official_variables().items()}
    config, arrays = model.family.to_official(model.config, arrays)
    arrays["global_step"] = np.int64(0)
    folder, name = os.path.split(prefix)
    config_file = model.family.config_file
    with (
        ChecksummedFolder(folder) as checksummed,
        tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}.tmp") as temporary,
    ):
        written = os.path.join(temporary, name)
        with storage.os_errors():
            tf.raw_ops.SaveV2(
                prefix=written,
                tensor_names=list(arrays),
                shape_and_slices=[""] * len(arrays),
                tensors=list(arrays.values()),
            )
        for ending in ENDINGS:
            os.replace(f"{written}.{ending}", f"{prefix}.{ending}")
            checksummed.add(f"{name}.{ending}")
        config.to_json_file(os.path.join(folder, config_file))
        checksummed.add(config_file)


def read_tf1_config(prefix):
    """Reads the `albert_config.json`, or another family's file, of a checkpoint.

    Returns:
        The `ModelFamily` and the config; None and None if there is no such file.

    Raises:
        UserError: the file is damaged or gone.
    """
    folder = os.path.dirname(prefix)
    require_whole(folder)
    for place in ("", os.path.join("..", "assets")):
        for family in readable_families():
            path = os.path.normpath(os.path.join(folder, place, family.config_file))
            if os.path.isfile(path):
                return family, family.config_from_official(path)
    return None, None


def find_tf1_prefix(path):
    """Finds the prefix of the checkpoint at `path`, or None.

    `path` is a prefix itself, an unpacked TF-Hub module, or a directory with
    `model.ckpt-best`, a `checkpoint` file or a single checkpoint.

    Raises:
        UserError: the directory holds several checkpoints and names none, or names
            one of another directory.
    """
    if os.path.isfile(f"{path}.index"):
        return path
    for name in (BEST_CHECKPOINT, _HUB_VARIABLES):
        prefix = os.path.join(path, name)
        if os.path.isfile(f"{prefix}.index"):
            return prefix
    latest = _latest_checkpoint(path)
    if latest:
        return latest
    indices = sorted(glob.glob(os.path.join(glob.escape(path), "*.index")))
    if len(indices) > 1:
        raise UserError(
            f"{path} holds several checkpoints: name one, such as "
            f"{indices[-1].removesuffix('.index')}."
        )
    return indices[0].removesuffix(".index") if indices else None


def _latest_checkpoint(directory):
    """Reads the prefix that the file `checkpoint` in a directory names, or None."""
    import tensorflow as tf

    state = os.path.join(directory, "checkpoint")
    if not os.path.isfile(state):
        return None
    try:
        found = tf.train.get_checkpoint_state(directory)
    except (tf.errors.OpError, ValueError) as error:
        raise UserError(
            f"{state} is damaged; name the checkpoint itself, such as "
            f"{directory}/{BEST_CHECKPOINT}."
        ) from error
    if found is None:
        return None
    # The official code writes the full path, which a move invalidates.
    folder, name = os.path.split(found.model_checkpoint_path)
    latest = os.path.join(directory, name)
    if os.path.isfile(f"{latest}.index"):
        return latest
    if storage.is_same(folder, directory):
        return None
    raise UserError(
        f"{state} names {found.model_checkpoint_path}, which is in another folder; "
        "name the checkpoint itself."
    )


def read_tf1_tensors(prefix):
    """Reads the weights of a TF1 checkpoint: float32 arrays by official name.

    Raises:
        UserError: the checkpoint is missing or cannot be read.
    """
    import tensorflow as tf

    if not os.path.isfile(f"{prefix}.index"):
        raise UserError(f"There is no checkpoint {prefix}: {prefix}.index is missing.")
    try:
        reader = tf.train.load_checkpoint(prefix)
        names = sorted(reader.get_variable_to_shape_map())
        names = [name for name in names if not _NOT_WEIGHTS.search(name)]
        return {
            name.removeprefix(_HUB_SCOPE): reader.get_tensor(name).astype(np.float32)
            for name in names
        }
    except (tf.errors.OpError, IndexError, RuntimeError, ValueError) as error:
        raise UserError(f"Checkpoint {prefix} is damaged: {error}") from error
