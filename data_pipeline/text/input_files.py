"""The files that a comma list of names, globs and folders stands for.

Functions import TensorFlow themselves, for --help not to wait; see corpus.py.
"""

import os

from albert_tf.errors import UserError
from albert_tf.io import storage


def split(patterns):
    """The patterns of a comma list, without the spaces around them."""
    return [p for p in (part.strip() for part in patterns.split(",")) if p]


def matching(pattern):
    """The paths that a name or glob stands for, sorted; none where nothing is.

    What exists is taken by its name: in `corpus[1].txt` and `data[old]/*.txt` the
    brackets are no glob where there is such a file or folder.
    """
    import tensorflow as tf

    if tf.io.gfile.exists(pattern):
        return [pattern]
    folder, name = os.path.split(pattern)
    if tf.io.gfile.isdir(folder):
        pattern = os.path.join(storage.escaped(folder), name)
    return sorted(tf.io.gfile.glob(pattern))


def inside(folder):
    """The paths of what lies in a folder, sorted."""
    import tensorflow as tf

    names = (name.rstrip("/") for name in tf.io.gfile.listdir(folder))
    return sorted(os.path.join(folder, name) for name in names)


def each_once(paths):
    """The paths without those that lead to a file which an earlier one leads to.

    Two spellings of a path and links to a file lead to one file.
    """
    first = {}
    for path in paths:
        first.setdefault(_identity(path), path)
    return list(first.values())


def _identity(path):
    return path if storage.is_remote(path) else os.path.realpath(path)


def require_regular(path):
    """Refuses a pipe or a device, whose size says nothing and which is read once.

    Raises:
        UserError: it names the path.
    """
    if not storage.is_remote(path) and not os.path.isfile(path):
        raise UserError(
            f"{path} is a pipe or a device, expected a regular file, which can be read "
            "in parts; write the contents to a file and pass that."
        )
