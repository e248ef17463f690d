"""Guesses at the name or path that a user meant instead of a missing one."""

import difflib
import os

from albert_tf.io import storage

_MANY = 10_000  # names in a folder; more are not compared
# Where the output folder of a fine-tuning run, or of several runs, holds a model.
_MODELS_OF_RUNS = ("model", "run_0/model")


def close_name(name, names):
    """Returns the one of `names` that looks most like `name`, or None."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def did_you_mean(path):
    """Returns a question to end a message about a path that does not exist.

    Args:
        path: the path that the user named, on a disk or elsewhere.

    Returns:
        "; did you mean k99/model?" if there is a path whose parts equal `path`'s
        or look like them, else "".
    """
    path = os.fspath(path)
    if not path or storage.is_remote(path) or os.path.exists(path):
        return ""
    found = os.path.abspath(os.sep) if os.path.isabs(path) else ""
    for part in os.path.normpath(path).split(os.sep):
        if os.path.exists(os.path.join(found, part)):
            found = os.path.join(found, part)
            continue
        close = close_name(part, _names_in(found))
        if close is None:
            return ""
        found = os.path.join(found, close)
    return f"; did you mean {found}?"


def model_file(folder, name):
    """Returns a file of the model that a folder is, or that fine-tuning left in it.

    Returns:
        Its path; None if there is none.
    """
    for place in ("", *_MODELS_OF_RUNS):
        path = os.path.join(folder, place, name)
        if storage.exists(path):
            return path
    return None


def _names_in(folder):
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith("."))[:_MANY]
