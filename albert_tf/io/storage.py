"""Files and folders, on a disk or in a bucket (`gs://…`).

Only buckets need TensorFlow, which is imported on first use. Errors in buckets are
`OSError`s, as on a disk.
"""

import contextlib
import errno
import glob
import os
import re
import shutil
import stat
import tempfile

from albert_tf.errors import UserError

_GLOB_SIGNS = re.compile(r"[*?\[\\]")
# Parts of a path that lead out of its folder, or that no file's name has.
_LEADS_AWAY = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\\\0]")
# TensorFlow adds the place in the graph to a message.
_IN_THE_GRAPH = re.compile(r"\{\{.*?\}\} ?| \[Op:\w+\]")
# A bucket's answer, of which one line is for people, and the path, on lines of its own.
_ANSWER = re.compile(r" with body '.*?\"message\": \"(.*?)\".*?'(?=\n|$)", re.DOTALL)
_PLACE = re.compile(r"\s*\n\s*when ")


def is_remote(path):
    """Returns whether a path is not on a disk of this machine."""
    return "://" in os.fspath(path)


def require_disk(flag, path):
    """Refuses a flag's path that is not on a disk of this machine."""
    if path and is_remote(path):
        raise UserError(
            f"--{flag}={path} is not on a disk of this machine, which this command "
            "needs; name a local path, and copy the files there yourself."
        )


@contextlib.contextmanager
def os_errors(path=None):
    """Turns TensorFlow's errors about files into `OSError`s.

    Args:
        path: the file or folder, which the error names unless its reason does.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        message = _IN_THE_GRAPH.sub("", error.message or type(error).__name__)
        message = _PLACE.sub(", when ", _ANSWER.sub(r" (\1)", message))
        reason = message.splitlines()[0]
        if path is None or os.fspath(path) in reason:
            raise OSError(errno.EIO, reason) from error
        raise OSError(errno.EIO, reason, os.fspath(path)) from error


@contextlib.contextmanager
def naming(path, temporary=None):
    """Adds a path to an `OSError` without one, such as a full disk's.

    Args:
        path: the file or folder.
        temporary: the path under which it is written, which `path` replaces.
    """
    try:
        yield
    except OSError as error:
        if error.errno and error.filename in (None, temporary):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextlib.contextmanager
def remote_files(path):
    """Yields `tf.io.gfile`; its errors become `OSError`s that name the path."""
    import tensorflow as tf

    with os_errors(path):
        yield tf.io.gfile


def is_inside(path):
    """Returns whether a relative path, read from a file, stays in its folder."""
    return isinstance(path, str) and not _LEADS_AWAY.search(path)


def is_name(name):
    """Returns whether a name, read from a file, can be that of a file beside it."""
    return is_inside(name) and "/" not in name


def exists(path):
    """Returns whether there is a file or folder."""
    if not is_remote(path):
        return os.path.exists(path)
    with remote_files(path) as gfile:
        return gfile.exists(path)


def is_folder(path):
    """Returns whether there is a folder."""
    if not is_remote(path):
        return os.path.isdir(path)
    with remote_files(path) as gfile:
        return gfile.isdir(path)


def is_same(path, other):
    """Returns whether two paths name one file or folder, which need not exist."""
    return identity(path) == identity(other)


def identity(path):
    """Returns the canonical path of a file or folder, with links resolved."""
    path = os.fspath(path)
    return path.rstrip("/") if is_remote(path) else os.path.realpath(path)


def modified_at(path):
    """Returns the time of a file's last change, in nanoseconds.

    A disk's comes from the operating system, since TensorFlow drops what is below a
    second.
    """
    if not is_remote(path):
        return os.stat(path).st_mtime_ns
    import tensorflow as tf

    return tf.io.gfile.stat(os.fspath(path)).mtime_nsec


def make_folder(path):
    """Makes a folder and its parents, unless they exist."""
    if not is_remote(path):
        os.makedirs(path, exist_ok=True)
        return
    with remote_files(path) as gfile:
        gfile.makedirs(path)


def names_in(folder):
    """Lists the names of all entries of a folder, sorted."""
    if not is_remote(folder):
        return sorted(os.listdir(folder))
    with remote_files(folder) as gfile:
        return sorted(name.rstrip("/") for name in gfile.listdir(folder))


def remove_folder(path):
    """Removes a folder and its contents, if it exists; of a link, only the link."""
    if not is_remote(path):
        if os.path.islink(path):
            os.remove(path)
        shutil.rmtree(path, ignore_errors=True)
        return
    import tensorflow as tf

    with remote_files(path) as gfile, contextlib.suppress(tf.errors.NotFoundError):
        gfile.rmtree(path)


def remove_file(path):
    """Removes a file, if it exists."""
    if not is_remote(path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        return
    import tensorflow as tf

    with remote_files(path) as gfile, contextlib.suppress(tf.errors.NotFoundError):
        gfile.remove(path)


def replace_folder(source, target):
    """Renames a folder of files, and replaces an earlier one of that name.

    A bucket has no folders to rename; the files are renamed one by one.
    """
    remove_folder(target)
    if not is_remote(target):
        os.replace(source, target)
        return
    make_folder(target)
    with remote_files(source) as gfile:
        for name in names_in(source):
            old, new = os.path.join(source, name), os.path.join(target, name)
            gfile.rename(old, new, overwrite=True)
    remove_folder(source)


def matching(folder, pattern):
    """Lists the paths in a folder that match a pattern such as `best-*`, sorted."""
    if not is_remote(folder):
        return sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
    with remote_files(folder) as gfile:
        return sorted(gfile.glob(os.path.join(escaped(folder), pattern)))


def escaped(path):
    """Returns the pattern for TensorFlow's `glob` that matches only this path."""
    return _GLOB_SIGNS.sub(r"\\\g<0>", path)


def require_regular(path):
    """Refuses a pipe or a device, which may have no end or block for ever.

    Raises:
        UserError: the path is one.
        OSError: the path does not exist, or is a link to itself.
    """
    if is_remote(path):
        return
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UserError(
            f"{path} is a pipe or a device, expected a regular file; write the "
            "contents to a file and name that."
        )


@contextlib.contextmanager
def opened(path):
    """Opens a regular file to read bytes.

    Raises:
        UserError: the path is a pipe or a device.
        OSError: the file cannot be read.
    """
    if not is_remote(path):
        require_regular(path)
        with open(path, "rb", buffering=65_536) as file:
            yield file
        return
    with remote_files(path) as gfile, gfile.GFile(path, "rb") as file:
        if not hasattr(file, "closed"):
            file.closed = False  # pyarrow asks; TensorFlow's files lack it to 2.21
        yield file


def read_bytes(path):
    """Reads the contents of a file, or raises an `OSError`."""
    with opened(path) as file:
        return file.read()


@contextlib.contextmanager
def read_locally(path):
    """Yields a local path to a file: its own, or a temporary copy's."""
    if not is_remote(path):
        require_regular(path)
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, os.path.basename(path))
        with remote_files(path) as gfile:
            gfile.copy(path, local)
        yield local
