"""Outcomes of commands, which are their folders' contents, for comparison."""

import hashlib
import json
import pathlib

import numpy as np

from albert_tf.io import checksums

# Not the result: for people, or when something happened.
_NO_RESULT = {"curves.png", "checkpoint", ".lock"}
_NO_RESULT_IN = {"train", "eval", "cache"}
# Of a killed export, which stays for a minute: docs/serving.md.
_LEFT_OVER = ".exporting-"
# Places in the data are there, but cannot be taken out; the seeds of dropout, which a
# SavedModel keeps and never uses, are new in each export.
_NO_ARRAYS = ("variant", "resource")
_SEEDS = ("int64", "variables")
# The record of a run names its folder.
_NOT_COMPARED = (
    "train_seconds",
    "data_record",
    "save_counter",
    "_CHECKPOINTABLE_OBJECT_GRAPH",
)


def outcome(folder):
    """Returns a dict of the contents of `folder`; equal results are equal dicts.

    Times and places are left out, and the order in which HDF5, TensorFlow and Protocol
    Buffers write things.
    """
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = path.relative_to(folder)
        skipped = name.name in _NO_RESULT or _NO_RESULT_IN.intersection(name.parts[:-1])
        skipped = skipped or _LEFT_OVER in str(name)
        if skipped or not path.is_file() or ".data-" in name.name:
            continue
        found[str(name)] = _content(path)
    return found


def differing(folder, reference):
    """Names the contents that differ between two folders."""
    first, second = outcome(folder), outcome(reference)
    return sorted(
        name
        for name in first.keys() | second.keys()
        if first.get(name) != second.get(name)
    )


def digest(values):
    """Computes a hash of arrays by name, bit for bit."""
    found = hashlib.sha256()
    for name in sorted(values):
        array = np.asarray(values[name])
        data = array.tobytes() if array.dtype != object else repr(array.tolist())
        data = data if isinstance(data, bytes) else data.encode()
        found.update(f"{name} {array.dtype} {array.shape} ".encode() + data)
    return found.hexdigest()


def _content(path):
    if path.suffix == ".h5":
        return digest(_h5_arrays(path))
    if path.suffix == ".index":
        return digest(_checkpoint_arrays(path.with_suffix("")))
    if path.suffix == ".json":
        kept = json.loads(path.read_text(), object_hook=_without_times)
        return json.dumps(kept, sort_keys=True)
    if path.name in ("saved_model.pb", "fingerprint.pb", "SHA256SUMS"):
        return "there"  # signature.json holds answers, variables/ the weights
    return checksums.of_file(path)


def _h5_arrays(path):
    import h5py

    arrays = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()]

    with h5py.File(path) as file:
        file.visititems(take)
    return arrays


def _checkpoint_arrays(prefix):
    # Imported here, so that --help does not wait for it.
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(prefix))
    return {
        name: reader.get_tensor(name)
        for name, dtype in reader.get_variable_to_dtype_map().items()
        if dtype.name not in _NO_ARRAYS
        and (dtype.name, prefix.name) != _SEEDS
        and not any(part in name for part in _NOT_COMPARED)
    }


def _without_times(values):
    return {n: v for n, v in values.items() if n not in ("train_seconds", "output_dir")}
