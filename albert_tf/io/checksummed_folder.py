"""Writer of a folder's files together with their checksums."""

import contextlib
import errno
import os

from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically

# By folder, the blocks that are open in this process, the outer ones first.
_OPEN = {}


class ChecksummedFolder:
    """Keeps the `SHA256SUMS` of a folder while a `with` block writes files into it.

    The list is taken away first and written last: a process that is killed in between
    leaves files without a checksum, never one with the checksum of another. Checksums
    of files that the block does not write stay as they are.

    Args:
        directory: a folder on a disk or in a bucket; it need not exist.

    Raises:
        FileNotFoundError: at the end, if a file of the block has been removed. Each
            write makes the folder where it is missing, so that none of them notices.
    """

    def __init__(self, directory):
        directory = os.fspath(directory)
        self._directory = directory.rstrip("/") or directory
        self._list = os.path.join(self._directory, checksums.NAME)
        self._known = {}
        self._written = []

    def __enter__(self):
        self._known = checksums.read(self._directory)
        storage.remove_file(self._list)
        _OPEN.setdefault(self._directory, []).append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self._close()
        # Blocks inside of this one have listed what they have written.
        known = {**self._known, **checksums.read(self._directory)}
        lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
        # On a full disk; the first error is being reported.
        ignored = (OSError,) if exc_type else ()
        with contextlib.suppress(*ignored):
            self._require_all()
            if lines:
                write_atomically(self._list, "".join(lines))

    def _close(self):
        outer = _OPEN[self._directory]
        outer.remove(self)
        if outer:
            outer[-1]._written += self._written
        else:
            del _OPEN[self._directory]

    def _require_all(self):
        for name in self._written:
            path = os.path.join(self._directory, name)
            if not storage.exists(path):
                said = "it was removed while the files beside it were written"
                raise FileNotFoundError(errno.ENOENT, said, path)

    def write(self, name, data):
        """Writes a file, as `write_atomically` does.

        Args:
            name: of the file, in the folder.
            data: bytes, a buffer of them, or a str.

        Raises:
            OSError: it cannot be written; the earlier one is as it was.
        """
        data = data.encode() if isinstance(data, str) else data
        write_atomically(os.path.join(self._directory, name), data)
        self._known[name] = checksums.of_bytes(data)
        self._written.append(name)

    def write_json(self, name, values):
        """Writes a file of JSON, likewise."""
        self.write(name, json_text(values))

    def add(self, name):
        """Takes the checksum of a file that other code has just written."""
        path = os.path.join(self._directory, name)
        self._known.pop(name, None)
        with storage.read_locally(path) as local_path:
            self._known[name] = checksums.of_file(local_path)
        self._written.append(name)
