"""A lock on a folder, so that one run at a time writes into it."""

import contextlib
import datetime
import errno
import json
import os
import socket
import threading
import time

from absl import logging

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_HOLDER = ".lock"  # says who; the lock is on the folder
_PAUSE = 0.05  # seconds between two tries
_HELD = {}  # by the folder, the thread of this process that holds its lock
# Errors of file systems that have no locks.
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)


@contextlib.contextmanager
def folder_lock(directory, patience=0):
    """Keeps other writers out of a folder while a `with` block lasts.

    The operating system holds the lock on the folder itself and releases it when the
    process ends. The thread that holds the lock may take it again. Buckets have no
    locks.

    Args:
        directory: the folder, which is made; "" for the current one.
        patience: seconds to wait for another writer. A writer that waits holds the lock
            briefly itself, and does not record its name.

    Raises:
        UserError: another writer holds the lock; the message names its process.
    """
    directory = os.fspath(directory) or "."
    storage.make_folder(directory)
    place = storage.identity(directory)
    is_own = _HELD.get(place) == threading.get_ident()
    if fcntl is None or storage.is_remote(directory) or is_own:
        yield
        return
    holder = os.path.join(directory, _HOLDER)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        _lock(descriptor, directory, holder, time.monotonic() + patience)
        _HELD[place] = threading.get_ident()
        if not patience:
            _write_name(holder)
        try:
            yield
        finally:
            del _HELD[place]
            if not patience:
                with contextlib.suppress(OSError):
                    os.remove(holder)
    finally:
        os.close(descriptor)


def _lock(descriptor, directory, holder, deadline):
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise UserError(
                    f"{directory} is in use by {_name_in(holder)}; wait until that run "
                    "ends, or choose another folder."
                ) from error
            time.sleep(_PAUSE)
            continue
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            logging.warning(
                "The file system of %s has no locks; start only one run there.",
                directory,
            )
        return


def _write_name(holder):
    began = datetime.datetime.now().isoformat(sep=" ", timespec="seconds")
    own = {"process": os.getpid(), "host": socket.gethostname(), "since": began}
    # The lock holds without the name, which a read-only folder cannot take.
    with contextlib.suppress(OSError):
        storage.remove_file(holder)  # A link there must not be followed.
        with open(holder, "x", encoding="utf-8") as file:
            json.dump(own, file)


def is_locked(directory):
    """Returns whether a writer holds the lock of an existing folder on a disk."""
    if fcntl is None:
        return False
    descriptor = os.open(directory or ".", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def _name_in(holder):
    try:
        name = read_json_object(holder)
        return (
            f"process {name['process']} on {name['host']}, which began on "
            f"{name['since']}"
        )
    except (KeyError, UserError):
        return "another run"
