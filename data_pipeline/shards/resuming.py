"""Record of the finished shards of an interrupted run, which a rerun leaves out."""

import contextlib
import json
import os
import uuid

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from data_pipeline.records import dataset_info
from data_pipeline.records.dataset_info import UNFINISHED

_MARK = ".mark-"


def temporary_name(path):
    """Returns a name beside `path` to write to, which no other process uses.

    A worker that outlives its run, on this machine or another, must not write into
    the file of the rerun.
    """
    return f"{path}.{uuid.uuid4().hex}{UNFINISHED}"


def remove_leftovers(paths):
    """Removes what runs that ended too early left of files, all in one folder."""
    folder = os.path.dirname(paths[0]) or "."
    names = (*map(os.path.basename, paths), dataset_info.NAME, _MARK)
    for name in tf.io.gfile.listdir(folder):
        if name.startswith(names) and name.endswith(UNFINISHED):
            with contextlib.suppress(tf.errors.NotFoundError):
                tf.io.gfile.remove(os.path.join(folder, name))


def _digest_of(mark):
    """Computes a checksum of the contents of a mark."""
    said = json.dumps([mark["of"], mark["parts"]], sort_keys=True)
    return checksums.of_bytes(said.encode())


class FinishedShards:
    """Remembers, in a file a shard, which shards are finished, with their contents.

    Args:
        paths: dict of split to the list of its files' paths.
        directory: the folder of the data set.
        digest: a name for all that a shard depends on.

    Raises:
        UserError: the folder holds a data set, or shards that depend on something
            else.
    """

    def __init__(self, paths, directory, digest):
        self._paths = paths
        self._directory = os.path.join(directory, ".unfinished")
        if os.path.islink(self._directory):  # Nothing here makes one.
            os.remove(self._directory)
        self._digest = digest
        if tf.io.gfile.exists(os.path.join(directory, dataset_info.NAME)):
            raise UserError(
                f"{directory} already holds a data set; delete it or choose another "
                f"directory."
            )
        if tf.io.gfile.exists(self._directory):
            self._check()
        else:
            tf.io.gfile.makedirs(self._directory)

    def _path(self, shard):
        return os.path.join(self._directory, f"{shard}.json")

    def _check(self):
        for name in tf.io.gfile.listdir(self._directory):
            mark = self._read(os.path.join(self._directory, name))
            if mark is not None and mark["of"] != self._digest:
                raise UserError(
                    f"{os.path.dirname(self._directory)} holds shards made with other "
                    f"input or flags; delete them and {self._directory}, or choose "
                    f"another directory."
                )

    def _read(self, path):
        """Reads a mark; None for a damaged file, whose shard is made again."""
        with tf.io.gfile.GFile(path, "rb") as file:
            data = file.read()
        try:
            mark = json.loads(data)
            for split in self._paths:
                mark["parts"][split]["counts"].items()
                _ = mark["parts"][split]["file"]["bytes"]
            _ = mark["of"]
            whole = mark["sha256"] == _digest_of(mark)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return mark if whole else None

    def parts(self, shard):
        """Returns the facts of a finished shard, as `write_shard` returned them.

        Returns:
            A dict of split to a dict; None for a shard that is not finished, or of
            which a file is gone or has another size.
        """
        path = self._path(shard)
        if not tf.io.gfile.exists(path):
            return None
        mark = self._read(path)
        whole = mark is not None and all(
            tf.io.gfile.exists(paths[shard])
            and size_of(paths[shard]) == mark["parts"][split]["file"]["bytes"]
            for split, paths in self._paths.items()
        )
        return mark["parts"] if whole else None

    def mark(self, shard, parts):
        """Remembers a shard as finished, with the facts that `write_shard` returned."""
        name = os.path.join(os.path.dirname(self._directory), f"{_MARK}{shard}")
        temporary = temporary_name(name)
        mark = {"of": self._digest, "parts": parts}
        mark["sha256"] = _digest_of(mark)
        with tf.io.gfile.GFile(temporary, "w") as file:
            file.write(json.dumps(mark))
        publish(temporary, self._path(shard))

    def forget(self):
        """Removes the memory: the data set is finished."""
        tf.io.gfile.rmtree(self._directory)


def publish(temporary, path):
    """Gives a finished file its name, once the disk holds all of it.

    Without `fsync` a power failure could leave the name and half of the contents.
    """
    if not storage.is_remote(temporary):
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
    tf.io.gfile.rename(temporary, path, overwrite=True)


def facts_of(path, records):
    """Returns the facts of a file of `records` records for dataset_info.json."""
    digest = checksums.of_file(path)
    return {"bytes": size_of(path), "records": records, "sha256": digest}


def size_of(path):
    """Returns the size of a file in bytes."""
    return tf.io.gfile.stat(path).length
