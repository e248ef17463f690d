"""SHA-256 checksums of bytes, files and folders, so that no damage is read unnoticed.

`SHA256SUMS` in a folder lists its files in the format of `sha256sum`. Files that it
does not list are read unchecked.
"""

import contextlib
import contextvars
import functools
import hashlib
import json
import os
import re

from albert_tf.errors import UserError
from albert_tf.io import storage

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_BLOCK = 1_048_576  # bytes read at a time
# By folder, the checksums that are not read again.
_known = contextvars.ContextVar("known", default={})  # noqa: B039
_verifies_weights = contextvars.ContextVar("verifies_weights", default=True)


@contextlib.contextmanager
def verifying_weights(is_on):
    """Decides whether weights read in the block are compared with their checksums.

    Args:
        is_on: False skips the comparison, which reads a large file once more; True
            changes nothing.
    """
    token = _verifies_weights.set(is_on and _verifies_weights.get())
    try:
        yield
    finally:
        _verifies_weights.reset(token)


def verifies_weights():
    """Returns whether weights are compared with their checksums."""
    return _verifies_weights.get()


def read(folder):
    """Reads a folder's `SHA256SUMS`: a dict from name to hexadecimal digits.

    Damaged lines are left out; without the file the dict is empty.

    Raises:
        UserError: the file cannot be read.
    """
    known = _known.get().get(os.fspath(folder).rstrip("/"))
    if known is not None:
        return known
    path = os.path.join(folder, NAME)
    try:
        if not storage.exists(path):
            return {}
        text = storage.read_bytes(path).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    lines = filter(None, map(_LINE.fullmatch, text.splitlines()))
    return {line[2]: line[1] for line in lines}


@contextlib.contextmanager
def reading(folder, listed=None):
    """Reads a folder's `SHA256SUMS` once for all that the block reads there.

    Args:
        folder: the folder.
        listed: the checksums if they have been read before.

    Yields:
        The checksums; see `read`.
    """
    listed = read(folder) if listed is None else listed
    token = _known.set({**_known.get(), os.fspath(folder).rstrip("/"): listed})
    try:
        yield listed
    finally:
        _known.reset(token)


def of_bytes(data):
    """Computes the checksum of bytes or of a buffer."""
    return hashlib.sha256(data).hexdigest()


def of_json(values):
    """Computes the checksum of a JSON value, whatever the order of its keys."""
    return of_bytes(json.dumps(values, sort_keys=True).encode())


def of_file(path, start=None):
    """Computes the checksum of a file; `start` is a hash to continue from.

    Raises:
        OSError: the file cannot be read.
    """
    found = start or hashlib.sha256()
    with storage.opened(path) as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def check_unchanged(folder, listed):
    """Refuses a folder that another program has replaced while it was being read.

    Args:
        folder: the folder.
        listed: the result of `read` from before.
    """
    if read(folder) != listed:
        raise UserError(
            f"{folder} was replaced while it was read; load it again once that is done."
        )


def of_folder(folder):
    """Returns the checksums that a folder lists, or else those of all its files."""
    return read(folder) or of_files_below(folder)


def of_files_below(folder):
    """Computes the checksums of all files below a folder, by their paths in it.

    A process reads a file again only if its size, time or inode has changed.
    """
    return {
        name: _of_version(os.path.join(folder, name), *stamp)
        for name, stamp in stamps(folder).items()
    }


@functools.cache
def _of_version(path, size, time, inode):
    return of_file(path)


def stamps(folder):
    """Returns sizes, times and inodes of a folder's files, by their paths in it.

    Hidden folders such as `.git` are left out.
    """
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (os.path.join(place, name) for name in names):
            stat = os.stat(path)
            version = stat.st_size, stat.st_mtime_ns, stat.st_ino
            found[os.path.relpath(path, folder)] = version
    return found


def check_bytes(path, data):
    """Refuses a file's bytes if they differ from its checksum."""
    folder, name = os.path.split(path)
    expected = read(folder).get(name)
    if expected not in (None, of_bytes(data)):
        raise _damaged(path, folder)


def check_weights(path, local_path):
    """Refuses weights that differ from their checksum; see `verifying_weights`.

    Args:
        path: the file in its folder, perhaps in a bucket.
        local_path: its copy on this machine.
    """
    if not verifies_weights():
        return
    folder, name = os.path.split(path)
    _check_file(path, local_path, folder, read(folder).get(name))


def check_folder(folder):
    """Refuses a folder on this machine if a listed file is damaged or missing."""
    require_all(folder)
    for name, expected in read(folder).items():
        path = os.path.join(folder, name)
        # A line may name a file that lies elsewhere, or never ends.
        inside = os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
        if inside and os.path.isfile(path):
            _check_file(path, path, folder, expected)


def require_all(folder):
    """Refuses a folder, which need not exist, if a listed file is missing."""
    for name in read(folder):
        path = os.path.join(folder, name)
        inside = not os.path.isabs(name) and ".." not in name.split("/")
        if inside and not storage.exists(path):
            raise UserError(
                f"{path} is missing, though {os.path.join(folder, NAME)} names it; "
                "copy it there again or, if you removed it on purpose, remove its line "
                "there."
            )


def _check_file(path, local_path, folder, expected):
    try:
        if expected is not None and expected != of_file(local_path):
            raise _damaged(path, folder)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _damaged(path, folder):
    return UserError(
        f"{path} is damaged: its SHA-256 differs from the one in "
        f"{os.path.join(folder, NAME)}; copy both files again or, if you changed the "
        "file on purpose, remove its line there."
    )
