"""The files of pretraining data, and the descriptions of their folders."""

import concurrent.futures
import fnmatch
import os

import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from data_pipeline.records import dataset_info
from data_pipeline.records import examples
from data_pipeline.shards.resuming import size_of
from data_pipeline.text import input_files

_OPEN_FILES = 16
# Facts that data sets read together share; only packed ones have pairs a row.
_ALIKE = (
    "kind",
    "max_pairs_per_row",
    "max_seq_length",
    "masking",
    "sentence_objective",
)
# In a bucket each question takes tens of milliseconds; a disk reads no faster.
_QUESTIONS = 16
_READERS = 4
_AGAIN = "copy the file again, or make the data again."


def describe_data(input_file):
    """Returns each folder's dataset_info.json; None for a folder without one.

    Raises:
        UserError: no such file, a description that is none, or a file without one
            that holds no records.
    """
    paths = find(input_file)
    descriptions = _describe(paths)
    for folder, info in descriptions.items():
        if info is None:
            _first_features([p for p in paths if os.path.dirname(p) == folder])
    return descriptions


def _describe(paths):
    folders = sorted({os.path.dirname(path) for path in paths})
    return {folder: dataset_info.read(folder) for folder in folders}


def open_data(input_file):
    """Finds the files of `pretraining_dataset`, whose sizes it checks.

    Returns:
        The paths of `find`, and the dict of `describe_data`.

    Raises:
        UserError: as `find`; or a file has another size than its folder's description
            gives, or is none of the data set.
    """
    paths = find(input_file)
    descriptions = _describe(paths)
    _check_sizes(descriptions, paths)
    return paths, descriptions


def find(input_file):
    """Finds the paths of the files of `pretraining_dataset`, each once.

    Raises:
        UserError: there is none, one is missing or is no regular file.
    """
    paths = input_files.find(input_file, _of_pattern, "pretraining data")
    if not paths:
        raise UserError(
            f"{input_file!r} names no pretraining data; pass a file, folder or glob."
        )
    return paths


def _of_pattern(pattern):
    with storage.remote_files() as gfile:
        is_folder = gfile.isdir(pattern)
        return _files_of(pattern) if is_folder else _files_matching(pattern)


def _files_of(folder):
    """Lists the files of a folder's data set; without a description, likely ones."""
    there = sorted(tf.io.gfile.listdir(folder))
    info = dataset_info.read(folder)
    if info is None:
        paths = [os.path.join(folder, name) for name in there if ".tfrecord" in name]
        return list(filter(_may_hold_records, paths))
    _check_present(folder, info["files"], there)
    return [os.path.join(folder, name) for name in sorted(info["files"])]


def _files_matching(pattern):
    """Lists the files of a glob, none of which may be lost, or the one of a name."""
    paths = input_files.matching(pattern)
    descriptions = {} if paths == [pattern] else _describe(paths)
    for folder, info in descriptions.items():
        names = fnmatch.filter(info["files"] if info else [], os.path.basename(pattern))
        there = [name for place, name in map(os.path.split, paths) if place == folder]
        _check_present(folder, names, there)
    return list(filter(_may_hold_records, paths))


def _check_present(folder, names, there):
    missing = sorted({*names} - {*there})
    if missing:
        raise UserError(
            f"{os.path.join(folder, dataset_info.NAME)} lists {missing[0]}, which is "
            "missing; copy it there, or make the data again."
        )


def _may_hold_records(path):
    name = os.path.basename(path)
    others = (dataset_info.NAME, checksums.NAME)
    if name in others or name.endswith(dataset_info.UNFINISHED):
        return False
    if name.startswith("."):  # such as the lock of a run
        return False
    return not tf.io.gfile.isdir(path)


def in_common(descriptions, paths):
    """Returns the facts that all directories share; None if one has no description."""
    infos = list(descriptions.values())
    for folder, info in descriptions.items():
        if info is None or isinstance(info["files"], list):
            names = _first_features([p for p in paths if os.path.dirname(p) == folder])
            if info is None:
                _check_official(folder, names)
    if None in infos:
        logging.warning(
            "%s: there is no %s, so nothing checks that the files fit the tokenizer",
            ", ".join(descriptions),
            dataset_info.NAME,
        )
        return None
    for info in infos[1:]:
        for name in _ALIKE:
            if info.get(name) != infos[0].get(name):
                raise UserError(
                    f"The input files belong to data sets that differ in {name}: "
                    f"{infos[0].get(name)} and {info.get(name)}; name the files of "
                    "one."
                )
    return infos[0]


def _first_features(paths):
    """Returns the names of the features of the first record of each file."""
    with concurrent.futures.ThreadPoolExecutor(_OPEN_FILES) as pool:
        return set().union(*pool.map(_feature_names, paths))


def _check_official(folder, names):
    """Refuses records that only the description that `folder` lacks makes readable."""
    for name, kind in examples.DESCRIBED.items():
        if name in names:
            raise UserError(
                f"{os.path.join(folder, dataset_info.NAME)} is missing: it says how "
                f"the {kind} records beside it are to be read; copy it from where the "
                "data was made, or make the data again."
            )


def _feature_names(path):
    """Returns the names of the features of a file's first record, if there is one."""
    try:
        for record in tf.data.TFRecordDataset(path):
            return set(tf.train.Example.FromString(record.numpy()).features.feature)
    except (DecodeError, tf.errors.DataLossError) as error:
        # TensorFlow's own error, later, names no file.
        raise UserError(
            f"{path} is not a TFRecord file of examples; leave it out, or make it "
            "again."
        ) from error
    except tf.errors.OpError:
        pass  # the reader of all of it reports the mistake
    return set()


def _check_sizes(descriptions, paths):
    """Compares the sizes of files with those that their folders' descriptions give."""
    described = _facts(descriptions, paths)
    with storage.os_errors(), concurrent.futures.ThreadPoolExecutor(_QUESTIONS) as pool:
        sizes = pool.map(size_of, described)
        for (path, facts), size in zip(described.items(), sizes, strict=True):
            if size != facts["bytes"]:
                raise UserError(
                    f"{path} has {size:,} bytes, but {_info(path)} says "
                    f"{facts['bytes']:,}; {_AGAIN}"
                )


def verify_data(input_file):
    """Compares the checksums of all files of `pretraining_dataset`, reading them whole.

    Raises:
        UserError: a file is missing or has changed since the data was made.
    """
    paths, descriptions = open_data(input_file)
    described = _facts(descriptions, paths)
    if len(described) < len(paths):
        logging.warning(
            "%s: %d of %d files have no checksum in a %s and are not verified",
            input_file,
            len(paths) - len(described),
            len(paths),
            dataset_info.NAME,
        )
    total = sum(facts["bytes"] for facts in described.values())
    with (
        storage.os_errors(),
        Progress(total, "bytes", "verifying data") as progress,
        concurrent.futures.ThreadPoolExecutor(_READERS) as pool,
    ):
        digests = pool.map(checksums.of_file, described)
        for (path, facts), digest in zip(described.items(), digests, strict=True):
            progress.update(progress.done + facts["bytes"])
            if digest != facts["sha256"]:
                raise UserError(
                    f"{path} has another SHA-256 than {_info(path)} says: its contents "
                    f"have changed; {_AGAIN}"
                )


def _facts(descriptions, paths):
    """Returns the facts of each path that a description lists."""
    facts = {}
    for path in paths:
        folder, name = os.path.split(path)
        info = descriptions[folder]
        if info is None:
            continue
        if name not in info["files"]:
            raise UserError(
                f"{path} is not among the files that {_info(path)} lists; take it out "
                "of the folder, or name the others."
            )
        if isinstance(info["files"], dict):
            facts[path] = info["files"][name]
    return facts


def _info(path):
    return os.path.join(os.path.dirname(path), dataset_info.NAME)
