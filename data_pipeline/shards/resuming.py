"""Record of the finished shards of an interrupted run, which a rerun leaves out."""

import json
import os

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import write_atomically
from data_pipeline.records import dataset_info


class FinishedShards:
    """Marks finished shards, each in a file of its own, with counts and checksums.

    Args:
        paths: dict of split to the list of its files' paths.
        directory: the folder of the data set.
        digest: identity of everything that a shard depends on.

    Raises:
        UserError: the folder holds a data set, or shards that depend on something
            else.
    """

    def __init__(self, paths, directory, digest):
        self._paths, self._digest = paths, digest
        self._directory = os.path.join(directory, ".unfinished")
        if os.path.islink(self._directory):  # Nothing here makes one.
            os.remove(self._directory)
        if storage.exists(os.path.join(directory, dataset_info.NAME)):
            raise UserError(
                f"{directory} already holds a data set; delete it or choose another "
                f"directory."
            )
        storage.make_folder(self._directory)
        for name in storage.names_in(self._directory):
            mark = self._read(name)
            if mark is not None and mark["of"] != digest:
                raise UserError(
                    f"{directory} holds shards made with other input or flags; delete "
                    f"them and {self._directory}, or choose another directory."
                )

    def _read(self, name):
        """Reads a mark; returns None if it is missing or damaged."""
        path = os.path.join(self._directory, name)
        if not storage.exists(path):
            return None
        try:
            mark = json.loads(storage.read_bytes(path))
            return mark if mark["sha256"] == _digest_of(mark) else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def parts(self, shard):
        """Returns the facts of a finished shard, as `write_shard` returned them.

        Returns:
            A dict of split to a dict; None for a shard that is not finished, or of
            which a file is gone or has another size.
        """
        mark = self._read(f"{shard}.json")
        for split, paths in self._paths.items() if mark else ():
            path, size = paths[shard], mark["parts"][split]["file"]["bytes"]
            if not storage.exists(path) or tf.io.gfile.stat(path).length != size:
                return None
        return mark and mark["parts"]

    def mark(self, shard, parts):
        """Marks a shard as finished, with the facts that `write_shard` returned."""
        mark = {"of": self._digest, "parts": parts}
        mark["sha256"] = _digest_of(mark)
        path = os.path.join(self._directory, f"{shard}.json")
        write_atomically(path, json.dumps(mark))

    def forget(self):
        """Removes all marks, once the data set is finished."""
        tf.io.gfile.rmtree(self._directory)


def _digest_of(mark):
    """Computes a checksum of the contents of a mark."""
    said = json.dumps([mark["of"], mark["parts"]], sort_keys=True)
    return checksums.of_bytes(said.encode())
