"""The version folders of an export, and the temporary folder of the next version."""

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

_PREFIX = ".exporting-"  # Servers do not take such a folder for a version.
_NEW = 60  # seconds during which a new folder may not be locked yet
_WAIT = 60.0  # seconds for another process to finish looking at the lock


@contextlib.contextmanager
def exporting_folder(export_dir):
    """Creates a temporary folder beside the versions; removes it if still there.

    Also removes the folders of killed exports: a folder is locked while in use, and the
    operating system releases the lock when the process ends.

    Raises:
        OSError: writing failed; the error names a file or `export_dir`.
    """
    for path in export_dir.glob(f"{_PREFIX}*"):
        if path.is_dir() and _is_abandoned(path):
            logging.info("Removing %s, which an export left when it was killed.", path)
            shutil.rmtree(path, ignore_errors=True)
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
    """Returns the version folders in a `pathlib.Path`, by number."""
    if not export_dir.is_dir():
        return {}
    folders = (path for path in export_dir.iterdir() if path.is_dir())
    return {int(p.name): p for p in folders if p.name.isdecimal()}


def _is_abandoned(folder):
    if fcntl is None or time.time() - folder.stat().st_mtime <= _NEW:
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, or the file system has no locks
        return False
    finally:
        os.close(descriptor)
    return True
