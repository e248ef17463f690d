"""One run at a time writes into a folder."""

import contextlib
import datetime
import errno
import json
import os
import socket

from absl import logging

from albert_tf import storage
from albert_tf.errors import UserError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_FILE = ".lock"
# What file systems answer that have no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)


@contextlib.contextmanager
def folder_lock(directory):
    """Keeps other runs out of a folder while a `with` block lasts.

    The operating system holds the lock and drops it with the process, however that
    ends. A bucket has no locks; the folder is then free to all.

    Args:
        directory: a folder that exists.

    Raises:
        UserError: another process holds the lock; the message names it.
    """
    if fcntl is None or storage.is_remote(directory):
        yield
        return
    path = os.path.join(directory, _FILE)
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{directory} is in use by {_holder(file)}; wait until that run ends, "
                "or choose another folder."
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            logging.warning("%s has no locks: start one run in it only.", directory)
        file.truncate(0)
        json.dump(_own_name(), file)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _own_name():
    started = datetime.datetime.now().isoformat(sep=" ", timespec="seconds")
    return {"process": os.getpid(), "host": socket.gethostname(), "since": started}


def _holder(file):
    file.seek(0)
    try:
        name = json.load(file)
        return (
            f"process {name['process']} on {name['host']}, which began on "
            f"{name['since']}"
        )
    except (ValueError, KeyError, TypeError):
        return "another run"
