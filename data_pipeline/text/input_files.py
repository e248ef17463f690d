"""The files that a comma list of names, globs and folders stands for.

Functions import TensorFlow themselves, for --help not to wait; see corpus.py.
"""

import os

from absl import logging

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import unreadable
from albert_tf.io.near_misses import did_you_mean


def find(patterns, files_of, kind):
    """Finds the files of a comma list of names, globs and folders.

    Args:
        patterns: the list.
        files_of: a function from a name, glob or folder to a list of paths.
        kind: what the files are, for errors.

    Returns:
        A list of paths, in the order of the patterns; a file that several of them or
        links lead to is there once.

    Raises:
        UserError: one matches no file, or a pipe or a device.
    """
    paths = {}  # by the file that a spelling or a link leads to
    named = [name.strip() for name in patterns.split(",") if name.strip()]
    for pattern in named or [patterns]:
        found = files_of(pattern) if named else []
        if not found:
            meant = did_you_mean(pattern) or "; name a file, a glob or a folder."
            raise UserError(f"No {kind} matches {pattern!r}{meant}")
        for path in found:
            paths.setdefault(storage.identity(path), path)
    for path in paths.values():
        try:
            storage.require_regular(path)
        except OSError as error:
            raise unreadable(path, error) from error
    return list(paths.values())


def matching(pattern):
    """Returns the existing paths that a name or glob stands for, sorted.

    A path that exists is no glob: `corpus[1].txt` and the folder in `data[old]/*.txt`
    are taken literally.
    """
    with storage.remote_files(pattern) as gfile:
        if gfile.exists(pattern):
            return [pattern]
        folder, name = os.path.split(pattern)
        if gfile.isdir(folder):
            pattern = os.path.join(storage.escaped(folder), name)
        return sorted(gfile.glob(pattern))


def of_pattern(pattern):
    """Lists the existing files that a name, glob or folder stands for.

    A folder stands for all files in it and in the folders within it. Files and folders
    that begin with a dot, like .DS_Store, count only if a name or glob asks for them.
    """
    found = matching(pattern)
    if found != [pattern] and not os.path.basename(pattern).startswith("."):
        found = _shown(found)
    return [file for path in found for file in _files_of(path)]


def _files_of(path):
    """Lists the path itself if it is a file, else the files below it, sorted."""
    if not storage.is_folder(path):
        return [path]
    files, waiting, seen = [], [path], set()
    while waiting:
        folder = waiting.pop()
        if storage.identity(folder) in seen:  # links may make a circle
            continue
        seen.add(storage.identity(folder))
        found = (os.path.join(folder, name) for name in storage.names_in(folder))
        for one in _shown(found):
            (waiting if storage.is_folder(one) else files).append(one)
    return sorted(files)


def _shown(paths):
    paths = list(paths)
    hidden = [path for path in paths if os.path.basename(path).startswith(".")]
    if hidden:
        logging.info("hidden files that are not read: %s", ", ".join(hidden))
    return [path for path in paths if path not in hidden]
