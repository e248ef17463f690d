"""Folders of files that belong together: replaced at once, read whole, checked."""

import contextlib
import errno
import os

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically

# In the folder: files that are being written, and those that are to be put in place.
_NEW, _READY = ".new", ".ready"
_STALE = ".stale"  # there: the names of the files that go
# By folder, the blocks that are open in this process, the outer ones first.
_OPEN = {}


@contextlib.contextmanager
def replacing(directory, is_stale):
    """Gives a folder to write into; its files then take the place of others.

    They are complete before the first of them is moved. A process that is killed before
    leaves the earlier files, one that is killed later a move that the next reader
    finishes: `require_whole`. In a bucket, which renames no folders, files are written
    where they are to lie, one after the other.

    Args:
        directory: a folder on a disk or in a bucket; it need not exist. Files that
            neither `SHA256SUMS` there nor `is_stale` names stay.
        is_stale: from the name of a file there, and whether `SHA256SUMS` names it, to
            whether it is to be replaced; asked for files that are not
            written anew.

    Raises:
        OSError: a file cannot be written; it is named as in `directory`.
    """
    directory = os.fspath(directory).rstrip("/") or os.fspath(directory)
    if storage.is_remote(directory):
        with _in_place(directory, is_stale):
            yield directory
        return
    _settle(directory)
    new = os.path.join(directory, _NEW)
    storage.remove_folder(new)
    storage.make_folder(new)
    try:
        with _named_as_in(directory, new):
            yield new
            _list(directory, new, is_stale)
            os.rename(new, os.path.join(directory, _READY))
    finally:
        storage.remove_folder(new)
    _settle(directory)


def require_whole(directory):
    """Refuses a folder without files of its `SHA256SUMS`; first finishes `replacing`.

    It need not exist, nor hold checksums.
    """
    _settle(directory)
    checksums.require_all(directory)


def _list(directory, new, is_stale):
    """Writes beside the new files which go, and the checksums of all that stay."""
    listed = checksums.read(directory)
    stale, kept = _stale_and_kept(directory, listed, _files_in(new), is_stale)
    write_atomically(os.path.join(new, _STALE), "\n".join(stale))
    _write_checksums(new, {**kept, **checksums.read(new)})


def _stale_and_kept(directory, listed, written, is_stale):
    """Lists the files that go, and the checksums of the others not written anew."""
    others = {*storage.names_in(directory), *listed} - {*written}
    stale = sorted(name for name in others if is_stale(name, name in listed))
    kept = {n: s for n, s in listed.items() if n not in stale and n not in written}
    return stale, kept


def _write_checksums(folder, known):
    lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
    write_atomically(os.path.join(folder, checksums.NAME), "".join(lines))


def _settle(directory):
    """Puts files in place that wait for it; another process may do so, too."""
    directory = os.fspath(directory)
    ready = os.path.join(directory, _READY)
    if storage.is_remote(directory) or not os.path.isdir(ready):
        return
    try:
        _move(ready, directory)
    except OSError as error:
        raise UserError(
            f"{directory} holds a model whose saving was interrupted, and cannot be "
            f"completed: {error.strerror}; make the folder writable."
        ) from error


def _move(ready, directory):
    with contextlib.suppress(FileNotFoundError):
        stale = storage.read_bytes(os.path.join(ready, _STALE)).decode()
        for name in filter(None, stale.split("\n")):
            storage.remove_file(os.path.join(directory, name))
        names = set(_files_in(ready)) - {_STALE, checksums.NAME}
        # The checksums last: until then, the earlier ones contradict.
        for name in (*sorted(names), checksums.NAME):
            with contextlib.suppress(FileNotFoundError):
                target = os.path.join(directory, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.replace(os.path.join(ready, name), target)
    storage.remove_folder(ready)


def _files_in(folder):
    """Lists the files below a folder, by their paths in it."""
    return [
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(folder)
        for name in names
    ]


@contextlib.contextmanager
def _in_place(directory, is_stale):
    with ChecksummedFolder(directory) as folder:
        yield
        # Others are as they were; the blocks inside have listed what they wrote.
        listed, written = folder._known, list(checksums.read(directory))
        stale, folder._known = _stale_and_kept(directory, listed, written, is_stale)
    for name in stale:
        storage.remove_file(os.path.join(directory, name))


@contextlib.contextmanager
def _named_as_in(directory, new):
    """Names files in errors where they are to lie, not where they are written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        said = (error.strerror or "").replace(new, directory)
        path = str(error.filename or directory).replace(new, directory)
        raise OSError(error.errno, said, path) from error


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
        self._known = {}
        self._written = []

    def __enter__(self):
        self._known = checksums.read(self._directory)
        storage.remove_file(os.path.join(self._directory, checksums.NAME))
        _OPEN.setdefault(self._directory, []).append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        outer = _OPEN[self._directory]
        outer.remove(self)
        if outer:
            outer[-1]._written += self._written
        else:
            del _OPEN[self._directory]
        # Blocks inside of this one have listed what they have written.
        known = {**self._known, **checksums.read(self._directory)}
        # On a full disk; the first error is being reported.
        ignored = (OSError,) if exc_type else ()
        with contextlib.suppress(*ignored):
            self._require_all()
            if known:
                _write_checksums(self._directory, known)

    def _require_all(self):
        for name in self._written:
            path = os.path.join(self._directory, name)
            if not storage.exists(path):
                said = "it was removed while the files beside it were written"
                raise FileNotFoundError(errno.ENOENT, said, path)

    def write(self, name, data):
        """Writes bytes, a buffer of them or a str, as `write_atomically` does.

        Raises:
            OSError: it cannot be written; the earlier file is as it was.
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
        self._known.pop(name, None)
        self._known[name] = checksums.of_file(os.path.join(self._directory, name))
        self._written.append(name)
