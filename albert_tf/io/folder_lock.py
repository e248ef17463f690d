"""Lock of a folder, into which one run at a time writes."""

import contextlib
import datetime
import errno
import json
import os
import socket

from absl import logging

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_HOLDER = ".lock"  # says who; the lock is on the folder
# Errors of file systems that have no locks.
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)


@contextlib.contextmanager
def folder_lock(directory):
    """Keeps other runs out of a folder, which exists, while a `with` block lasts.

    The operating system holds the lock, on the folder itself, and drops it with the
    process, however that ends. A bucket has no locks; the folder is then free to all.

    Raises:
        UserError: another process holds the lock; the message names it.
    """
    if fcntl is None or storage.is_remote(directory):
        yield
        return
    holder = os.path.join(directory, _HOLDER)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{directory} is in use by {_name_in(holder)}; wait until that run "
                "ends, or choose another folder."
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            logging.warning(
                "The file system of %s has no locks; start only one run there.",
                directory,
            )
        began = datetime.datetime.now().isoformat(sep=" ", timespec="seconds")
        own = {"process": os.getpid(), "host": socket.gethostname(), "since": began}
        with open(holder, "w", encoding="utf-8") as file:
            json.dump(own, file)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.remove(holder)
    finally:
        os.close(descriptor)


def _name_in(holder):
    try:
        name = read_json_object(holder)
        return (
            f"process {name['process']} on {name['host']}, which began on "
            f"{name['since']}"
        )
    except (KeyError, UserError):
        return "another run"
