"""The numbered folders of exports, and where one is made before it has a number."""

import contextlib
import os
import shutil
import time
import uuid

from absl import logging

from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.storage import naming

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_PREFIX = ".exporting-"  # no version to a server
_NEW = 60  # seconds in which a folder may not be locked yet
_WAIT = 60.0  # seconds until another process has looked at the lock


@contextlib.contextmanager
def exporting_folder(export_dir):
    """Gives an empty folder beside the versions, and removes it if it is still there.

    It is locked, and the operating system drops the lock with the process: folders
    that killed exports have left are removed as well.

    Raises:
        OSError: something cannot be written; the error names a file or `export_dir`.
    """
    _remove_left_over(export_dir)
    folder = export_dir / f"{_PREFIX}{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    try:
        with naming(export_dir), folder_lock(folder, _WAIT):
            yield folder
    except KeyboardInterrupt:
        logging.info("Nothing was exported: %s has no new version", export_dir)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def numbered_versions(export_dir):
    """Lists an export directory's numbered folders, a `pathlib.Path`, by number."""
    if not export_dir.is_dir():
        return {}
    folders = (path for path in export_dir.iterdir() if path.is_dir())
    return {int(p.name): p for p in folders if p.name.isdecimal()}


def _remove_left_over(export_dir):
    if not export_dir.is_dir():
        return
    for path in export_dir.iterdir():
        if not path.name.startswith(_PREFIX) or not path.is_dir():
            continue
        # Whoever made it locks it at once; whoever has died has no lock.
        if time.time() - path.stat().st_mtime > _NEW and not _is_locked(path):
            logging.info("Removing %s, which an export left when it was killed.", path)
            shutil.rmtree(path, ignore_errors=True)


def _is_locked(folder):
    if fcntl is None:
        return True
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
