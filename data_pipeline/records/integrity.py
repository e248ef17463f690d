"""Comparison of the files of a data set with their dataset_info.json."""

import concurrent.futures
import os

from absl import logging

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import storage
from data_pipeline.records import dataset_info
from data_pipeline.records import folders
from data_pipeline.shards.finished_files import sha256_of
from data_pipeline.shards.finished_files import size_of

# In a bucket each question takes tens of milliseconds; a disk reads no faster.
_QUESTIONS = 16
_READERS = 4
_AGAIN = "copy the file again, or make the data again."


def check_sizes(descriptions, paths):
    """Compares the sizes of files with those that their folders' descriptions give.

    Args:
        descriptions: dict of folder to its dataset_info.json or None.
        paths: list of the files.

    Raises:
        UserError: a file has another size, or is none of the data set.
    """
    described = _facts(descriptions, paths)
    with (
        storage.os_errors(),
        concurrent.futures.ThreadPoolExecutor(_QUESTIONS) as pool,
    ):
        sizes = pool.map(size_of, described)
        for (path, facts), size in zip(described.items(), sizes, strict=True):
            if size != facts["bytes"]:
                raise UserError(
                    f"{path} has {size:,} bytes, but {_info(path)} says "
                    f"{facts['bytes']:,}; {_AGAIN}"
                )


def verify_data(input_file):
    """Compares the checksums of all files of `pretraining_dataset`, reading them whole.

    Args:
        input_file: as for `pretraining_dataset`.

    Raises:
        UserError: a file is missing or has changed since the data was made.
    """
    paths = folders.find(input_file)
    descriptions = folders.describe(paths)
    check_sizes(descriptions, paths)
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
        digests = pool.map(sha256_of, described)
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
