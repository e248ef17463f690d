"""Files that get their names once they are whole, and facts that tell them apart."""

import hashlib
import os

import tensorflow as tf

from albert_tf.io import storage

_BLOCK_BYTES = 2**20


def publish(temporary, path):
    """Gives a finished file its name, once the disk holds all of it.

    Without `fsync` a power failure could leave the name and half of the contents.
    """
    if not storage.is_remote(temporary):
        descriptor = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    tf.io.gfile.rename(temporary, path, overwrite=True)


def facts_of(path, records):
    """Returns the facts of a file of `records` records for dataset_info.json."""
    return {"bytes": size_of(path), "records": records, "sha256": sha256_of(path)}


def size_of(path):
    """Returns the size of a file in bytes."""
    return tf.io.gfile.stat(path).length


def sha256_of(path):
    """Computes the SHA-256 of a file, hexadecimal as `sha256sum` prints it."""
    digest = hashlib.sha256()
    with tf.io.gfile.GFile(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
