"""A checksum beside a file of weights, so that no flipped bit loads unnoticed.

`<file>.sha256` is what the program `sha256sum` writes, and checks with `-c`. Files
without it, as others write them, load as they are.
"""

import hashlib
import os

from albert_tf import storage
from albert_tf.errors import UserError
from albert_tf.files import write_atomically

_ENDING = ".sha256"
_BLOCK = 2**20  # bytes read at a time


def write_with_checksum(path, data):
    """Writes a file and its checksum, each atomically.

    A process that is killed in between leaves a file without a checksum, never one
    with that of another.

    Args:
        path: the file.
        data: bytes, or a buffer of them.

    Raises:
        OSError: the file cannot be written; the earlier one is as it was.
    """
    storage.remove_file(path + _ENDING)
    write_atomically(path, data)
    line = f"{hashlib.sha256(data).hexdigest()}  {os.path.basename(path)}\n"
    write_atomically(path + _ENDING, line)


def check(path, local_path):
    """Compares a file with its checksum, if there is one.

    Args:
        path: the file.
        local_path: where its contents are on this machine.

    Raises:
        UserError: they differ.
    """
    try:
        if not storage.exists(path + _ENDING):
            return
        expected = storage.read_bytes(path + _ENDING).split()[:1]
        found = hashlib.sha256()
        with open(local_path, "rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    if expected != [found.hexdigest().encode()]:
        raise UserError(
            f"{path} is damaged: its SHA-256 is not that in {path}{_ENDING}; copy both "
            "again or, if the weights were changed on purpose, remove that file."
        )
