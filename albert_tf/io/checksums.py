"""Checksums beside files, so that no flipped bit is read unnoticed.

`SHA256SUMS` in a folder has the format that `sha256sum` writes, and checks with `-c`.
Files that it does not name, as others write them, are read as they are.
"""

import contextlib
import contextvars
import hashlib
import os
import re

from albert_tf.errors import UserError
from albert_tf.io import storage

NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_BLOCK = 2**20  # bytes read at a time
# By folder, the checksums that are not read again.
_known = contextvars.ContextVar("known", default={})  # noqa: B039
_verifies_weights = contextvars.ContextVar("verifies_weights", default=True)


@contextlib.contextmanager
def verifying_weights(is_on):
    """Decides whether weights that the code inside reads are compared.

    Args:
        is_on: False leaves the comparison out, which reads a large file once more;
            True changes nothing.
    """
    token = _verifies_weights.set(is_on and _verifies_weights.get())
    try:
        yield
    finally:
        _verifies_weights.reset(token)


def verifies_weights():
    """Returns whether weights are to be compared with their checksums."""
    return _verifies_weights.get()


def read(folder):
    """Reads the checksums of a folder's files: hexadecimal, by name; {} without any.

    Damaged lines count as none.

    Raises:
        UserError: they are there and cannot be read.
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
    """Computes the checksum of bytes, or of a buffer of them."""
    return hashlib.sha256(data).hexdigest()


def of_file(path, start=None):
    """Computes the checksum of a file, or goes on with a hash `start`.

    Raises:
        OSError: it cannot be read.
    """
    found = start or hashlib.sha256()
    with storage.opened(path) as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def check_unchanged(folder, listed):
    """Refuses a folder that has other checksums than when its reading began.

    Args:
        folder: which another program may have replaced meanwhile, so that what was read
            belongs to two models.
        listed: the earlier result of `read`.
    """
    if read(folder) != listed:
        raise UserError(
            f"{folder} was replaced while it was read; load it again once that is done."
        )


def of_folder(folder):
    """Returns the checksums that a folder names, or else of all its files, by name."""
    return read(folder) or {n: of_file(path) for n, path in _files_below(folder)}


def stamps(folder):
    """Returns the sizes and times of all files of a folder, by name."""
    found = ((name, os.stat(path)) for name, path in _files_below(folder))
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found}


def _files_below(folder):
    """Yields names and paths of files, without hidden folders such as `.git`."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(place, name)
            yield os.path.relpath(path, folder), path


def check_bytes(path, data):
    """Refuses the bytes of a file that differ from its checksum, if there is one."""
    folder, name = os.path.split(path)
    expected = read(folder).get(name)
    if expected not in (None, of_bytes(data)):
        raise _damaged(path, folder)


def check_weights(path, local_path):
    """Refuses weights, held here at `local_path`, that differ from their checksum.

    `verifying_weights(False)` leaves it out.
    """
    if not verifies_weights():
        return
    folder, name = os.path.split(path)
    _check_file(path, local_path, folder, read(folder).get(name))


def check_folder(folder):
    """Refuses a folder, on this machine, of whose files one is damaged or gone."""
    require_all(folder)
    for name, expected in read(folder).items():
        path = os.path.join(folder, name)
        # A line may name a file that lies elsewhere, or never ends.
        inside = os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
        if inside and os.path.isfile(path):
            _check_file(path, path, folder, expected)


def require_all(folder):
    """Refuses a folder that lacks files with checksums; it need not exist."""
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
