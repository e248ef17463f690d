"""Folders of files that belong together: replaced at once, with checksums."""

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

# Folders inside: files that are being written, and files that are ready to be moved.
UNFINISHED = _NEW, _READY = ".new", ".ready"
_STALE = ".stale"  # a list of names by versions up to 0.2.0, which nothing reads
_SAVING_SECONDS = 60.0  # that a writer waits for another, or a reader for a writer
_PAUSE = 0.05
# By folder, the blocks that are open in this process, outermost first.
_OPEN = {}


@contextlib.contextmanager
def replacing(directory, is_stale=lambda name, is_listed: False):
    """Yields a temporary folder whose files then replace the files in `directory`.

    All files are complete before the first is moved. A process killed earlier leaves
    the old files; after one killed later, the next writer finishes the move (see
    `writing`). A bucket cannot rename folders: there, files are written in place.

    Args:
        directory: a folder on a disk or in a bucket; it need not exist.
        is_stale: a function that decides whether an old file that is not rewritten is
            removed. Its arguments are the file's name and whether `SHA256SUMS` lists
            it. By default all such files stay.

    Raises:
        OSError: a file cannot be written; the error names it in `directory`.
        UserError: see `writing`.
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
    """Keeps other writers out of a folder, and finishes a killed writer's work.

    Args:
        directory: a folder, which is made.
        patience: see `folder_lock`.

    Raises:
        UserError: another writer is at work, or a file to move or remove lies behind a
            link or outside, so that this program cannot have left it.
    """
    with folder_lock(directory, patience):
        _finish(directory)
        yield


def finish(directory):
    """Finishes a killed writer's work in a folder, if there is any; see `writing`."""
    if _is_unfinished(directory):
        with writing(directory, _SAVING_SECONDS):
            pass


def require_whole(directory):
    """Refuses a folder with missing files or an unfinished replacement.

    The folder need not exist or have checksums. The function changes nothing in it,
    since anybody may have made it, and waits for a writer at work.
    """
    deadline = time.monotonic() + _SAVING_SECONDS
    while _is_unfinished(directory):
        if time.monotonic() < deadline and is_locked(directory):
            time.sleep(_PAUSE)
        elif _is_unfinished(directory):  # again: the writer may just have finished
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
    """Writes the checksums of new and remaining files beside the new ones.

    A file that the old list names and the new one does not is removed. Stale files of
    earlier versions, which wrote no list, are added to the old list for that.
    """
    listed = checksums.read(directory)
    stale, kept = _stale_and_kept(directory, listed, _files_in(new), is_stale)
    if unlisted := {*stale} - listed.keys():
        paths = {name: os.path.join(directory, name) for name in unlisted}
        found = {name: checksums.of_file(path) for name, path in paths.items()}
        _write_checksums(directory, {**listed, **found})
    _write_checksums(new, {**kept, **checksums.read(new)})


def _stale_and_kept(directory, listed, written, is_stale):
    """Returns the stale files, and the checksums of the other files not rewritten."""
    others = {*storage.names_in(directory), *listed} - {*written}
    stale = sorted(name for name in others if is_stale(name, name in listed))
    kept = {n: s for n, s in listed.items() if n not in stale and n not in written}
    return stale, kept


def _write_checksums(folder, known):
    lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
    write_atomically(os.path.join(folder, checksums.NAME), "".join(lines))


def _finish(directory):
    """Moves waiting files into place; the caller holds the lock."""
    if not _is_unfinished(directory):
        return
    ready = os.path.join(directory, _READY)
    try:
        if os.path.exists(os.path.join(ready, checksums.NAME)):
            _move(ready, os.fspath(directory))
        # Without checksums all files were moved, since the checksums are the last.
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
    # The checksums come last: until then, the old ones contradict the files.
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
        # Blocks inside have listed the files that they wrote.
        listed, written = folder._known, list(checksums.read(directory))
        stale, folder._known = _stale_and_kept(directory, listed, written, is_stale)
    for name in stale:
        storage.remove_file(os.path.join(directory, name))


@contextlib.contextmanager
def _named_as_in(directory, new):
    """Names files in errors by their place in `directory`, not in `new`."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        said = (error.strerror or "").replace(new, directory)
        path = str(error.filename or directory).replace(new, directory)
        raise OSError(error.errno, said, path) from error


class ChecksummedFolder:
    """Keeps a folder's `SHA256SUMS` up to date while a `with` block writes files.

    The list is removed first and written last: a process killed in between leaves files
    without checksums, never a file with a wrong one. Checksums of files that the block
    does not write are kept.

    Args:
        directory: a folder on a disk or in a bucket; it need not exist.

    Raises:
        FileNotFoundError: at the end, a file that the block wrote is missing. (A write
            makes a missing folder, so it does not notice.)
        UserError: at the beginning; see `writing`.
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
        # Inner blocks have listed what they wrote.
        known = {**self._known, **checksums.read(self._directory)}
        # The disk may be full; the first error is being reported.
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
        """Writes bytes, a buffer or a str as a file; see `write_atomically`."""
        data = data.encode() if isinstance(data, str) else data
        write_atomically(os.path.join(self._directory, name), data)
        self._known[name] = checksums.of_bytes(data)
        self._written.append(name)

    def write_json(self, name, values):
        """Writes a JSON file; see `json_text`."""
        self.write(name, json_text(values))

    def add(self, name):
        """Lists a file that other code has just written."""
        self._known.pop(name, None)
        self._known[name] = checksums.of_file(os.path.join(self._directory, name))
        self._written.append(name)
