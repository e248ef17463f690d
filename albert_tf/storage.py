"""Files and folders, on a disk or in a bucket (`gs://…`).

TensorFlow, which reaches buckets, is imported for them only.
"""

import contextlib
import errno
import glob
import os
import shutil
import tempfile


def is_remote(path):
    """Whether a path lies on no disk of this machine."""
    return "://" in os.fspath(path)


def exists(path):
    """Whether there is a file or folder."""
    return _gfile().exists(path) if is_remote(path) else os.path.exists(path)


def is_folder(path):
    """Whether there is a folder."""
    return _gfile().isdir(path) if is_remote(path) else os.path.isdir(path)


def make_folder(path):
    """Makes a folder, and those that it lies in, unless it is there."""
    if is_remote(path):
        _gfile().makedirs(path)
    else:
        os.makedirs(path, exist_ok=True)


def names_in(folder):
    """The names of what lies in a folder, sorted."""
    if is_remote(folder):
        return sorted(name.rstrip("/") for name in _gfile().listdir(folder))
    return sorted(os.listdir(folder))


def remove_folder(path):
    """Removes a folder with all that it holds, if it is there."""
    if not is_remote(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    import tensorflow as tf

    with contextlib.suppress(tf.errors.NotFoundError):
        tf.io.gfile.rmtree(path)


def replace_folder(source, target):
    """Gives a folder of files another name, in the place of an earlier one.

    In a bucket the files go over one by one: there are no folders to rename.
    """
    remove_folder(target)
    if not is_remote(target):
        os.replace(source, target)
        return
    make_folder(target)
    for name in names_in(source):
        old, new = os.path.join(source, name), os.path.join(target, name)
        _gfile().rename(old, new, overwrite=True)
    remove_folder(source)


def matching(folder, pattern):
    """The paths in a folder whose names match a pattern such as `best-*`, sorted."""
    if is_remote(folder):
        return sorted(_gfile().glob(os.path.join(folder, pattern)))
    return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))


def read_bytes(path):
    """The contents of a file.

    Raises:
        OSError: it is missing or cannot be read.
    """
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read()
    import tensorflow as tf

    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            return file.read()
    except tf.errors.OpError as error:
        reason = error.message or type(error).__name__
        raise OSError(errno.EIO, reason) from error


@contextlib.contextmanager
def written_locally(path, ending=""):
    """Gives a local path to write to; then that file is whole under its own name.

    Args:
        path: the file. Folders that are missing are made.
        ending: of the local path's name.
    """
    make_folder(os.path.dirname(path) or ".")
    if is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            local = os.path.join(folder, f"file{ending}")
            yield local
            _gfile().copy(local, f"{path}.tmp", overwrite=True)
            _gfile().rename(f"{path}.tmp", path, overwrite=True)
        return
    temporary = f"{path}.tmp{ending}"
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


@contextlib.contextmanager
def read_locally(path):
    """Gives a local path with the contents of a file: its own, or that of a copy."""
    if not is_remote(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, os.path.basename(path))
        _gfile().copy(path, local)
        yield local


def _gfile():
    import tensorflow as tf

    return tf.io.gfile
