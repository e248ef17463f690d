"""Folders of files that belong together: replaced at once, read whole, checked."""

import contextlib
import errno
import os
import time

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.folder_lock import is_locked

# In the folder: files that are being written, and those that are to be put in place.
UNFINISHED = _NEW, _READY = ".new", ".ready"
_STALE = ".stale"  # there, up to version 0.2.0: a list of names, which nothing reads
_SAVING_SECONDS = 60.0  # that a writer waits for another, or a reader for a writer
_PAUSE = 0.05
# By folder, the blocks that are open in this process, the outer ones first.
_OPEN = {}


@contextlib.contextmanager
def replacing(directory, is_stale=lambda name, is_listed: False):
    """Gives a folder to write into; its files then take the place of others.

    They are complete before the first of them is moved. A process that is killed before
    leaves the earlier files, one that is killed later a move that the next writer
    finishes: `writing`. In a bucket, which renames no folders, files are written where
    they are to lie, one after the other.

    Args:
        directory: a folder on a disk or in a bucket; it need not exist. Files that
            neither `SHA256SUMS` there nor `is_stale` names stay.
        is_stale: from the name of a file there, and whether `SHA256SUMS` names it, to
            whether it is to be replaced; asked for files that are not
            written anew, which all stay by default.

    Raises:
        OSError: a file cannot be written; it is named as in `directory`.
        UserError: as `writing`.
    """
    directory = os.fspath(directory).rstrip("/") or os.fspath(directory) or "."
    if storage.is_remote(directory):
        with _in_place(directory, is_stale):
            yield directory
        return
    with writing(directory, _SAVING_SECONDS):
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
        _finish(directory)


@contextlib.contextmanager
def writing(directory, patience=0):
    """Keeps other writers out of a folder, and finishes what a killed one left there.

    Args:
        directory: a folder, which is made.
        patience: as of `folder_lock`.

    Raises:
        UserError: another writer is at work, or a file that is to be moved or removed
            lies behind a link or elsewhere: it is not this program that left it.
    """
    with folder_lock(directory, patience):
        _finish(directory)
        yield


def finish(directory):
    """Finishes as `writing` what a killed writer left in a folder, if it left any."""
    if _is_unfinished(directory):
        with writing(directory, _SAVING_SECONDS):
            pass


def require_whole(directory):
    """Refuses a folder without files of its `SHA256SUMS`, or with a half of them.

    It need not exist, nor hold checksums. Nothing in it is changed: anybody may have
    made it. A writer that is at work is waited for.
    """
    deadline = time.monotonic() + _SAVING_SECONDS
    while _is_unfinished(directory):
        if time.monotonic() < deadline and is_locked(directory):
            time.sleep(_PAUSE)
        elif _is_unfinished(directory):  # and not since its writer has finished
            raise UserError(
                f"{directory} holds files of a saving that was interrupted (in "
                f"{_READY}); run the command that wrote it again, or save a model "
                "there, which finishes it."
            )
    checksums.require_all(directory)


def _is_unfinished(directory):
    ready = os.path.join(directory, _READY)
    return not storage.is_remote(directory) and os.path.lexists(ready)


def _list(directory, new, is_stale):
    """Writes beside the new files the checksums of all that stay.

    The files that go are those that the list in `directory` names and this one does
    not; those of earlier versions, which wrote no list, are added to the former.
    """
    listed = checksums.read(directory)
    stale, kept = _stale_and_kept(directory, listed, _files_in(new), is_stale)
    if unlisted := {*stale} - listed.keys():
        paths = {name: os.path.join(directory, name) for name in unlisted}
        found = {name: checksums.of_file(path) for name, path in paths.items()}
        _write_checksums(directory, {**listed, **found})
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


def _finish(directory):
    """Puts files in place that wait for it; the caller holds the lock."""
    if not _is_unfinished(directory):
        return
    ready = os.path.join(directory, _READY)
    try:
        if os.path.exists(os.path.join(ready, checksums.NAME)):
            _move(ready, os.fspath(directory))
        # Else all files were moved, for the checksums are the last.
        storage.remove_folder(ready)
    except OSError as error:
        raise UserError(
            f"{directory} holds a model whose saving was interrupted, and cannot be "
            f"completed: {error.strerror}; make the folder writable."
        ) from error


def _move(ready, directory):
    listed = checksums.read(ready)
    gone = checksums.read(directory).keys() - listed.keys()
    moved = {*_files_in(ready)} - {_STALE}
    for name in sorted({*moved, *gone}):
        is_known = name in gone or name in listed or name == checksums.NAME
        places = os.path.join(_READY, name), os.path.dirname(name)
        behind_links = any(_has_link(directory, place) for place in places)
        if not is_known or not storage.is_inside(name) or behind_links:
            raise UserError(
                f"{directory} was not left like this by a saving that was interrupted: "
                f"{os.path.join(ready, name)} would change other files; remove {ready} "
                "if you trust the rest of the folder."
            )
    for name in gone:
        storage.remove_file(os.path.join(directory, name))
    # The checksums last: until then, the earlier ones contradict.
    for name in (*sorted(moved - {checksums.NAME}), checksums.NAME):
        target = os.path.join(directory, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(os.path.join(ready, name), target)


def _has_link(folder, path):
    """Returns whether a part of a path in a folder is a link."""
    parts = path.split("/")
    starts = (os.path.join(folder, *parts[: n + 1]) for n in range(len(parts)))
    return any(map(os.path.islink, starts))


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
        UserError: as `writing`, at the beginning.
    """

    def __init__(self, directory):
        directory = os.fspath(directory)
        self._directory = directory.rstrip("/") or directory
        self._known = {}
        self._written = []
        self._lock = contextlib.ExitStack()

    def __enter__(self):
        self._lock.enter_context(writing(self._directory, _SAVING_SECONDS))
        self._known = checksums.read(self._directory)
        storage.remove_file(os.path.join(self._directory, checksums.NAME))
        _OPEN.setdefault(self._directory, []).append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        with self._lock:
            self._close(exc_type)

    def _close(self, exc_type):
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
