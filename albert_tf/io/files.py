"""Readers of JSON and of recipes, and writers of files that nobody sees half of."""

import collections
import io
import json
import math
import os
import pathlib
import tempfile
import zipfile

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import did_you_mean

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
# A wheel holds them inside the package, a checkout beside it.
_RECIPE_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def write_atomically(path, data):
    """Writes bytes, or a str as UTF-8, beside `path`, and renames that file to it.

    The disk then holds it: after a crash of the machine there is the earlier file or
    this one, not an empty one. Folders that are missing are made.

    Raises:
        OSError: the file cannot be written; `path` is as it was.
    """
    data = data.encode() if isinstance(data, str) else data
    storage.make_folder(os.path.dirname(path) or ".")
    temporary = f"{path}.tmp"
    if storage.is_remote(path):
        with tempfile.NamedTemporaryFile() as local, storage.remote_files() as gfile:
            local.write(data)
            local.flush()
            gfile.copy(local.name, temporary, overwrite=True)
            gfile.rename(temporary, path, overwrite=True)
        return
    try:
        with storage.naming(path):
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def write_json(path, values):
    """Writes JSON as `write_atomically` does."""
    write_atomically(path, json_text(values))


def json_text(values, indent=2, ensure_ascii=False):
    """Formats JSON as it is written: indented, in UTF-8, and ending with a line.

    JSON knows no NaN and no infinity: null takes their place.

    Args:
        values: of JSON.
        indent: None puts all on one line.
        ensure_ascii: escape all other letters.

    Raises:
        ValueError: it is nested more deeply than can be written.
    """
    layout = {"indent": indent, "ensure_ascii": ensure_ascii, "allow_nan": False}
    try:
        try:
            return json.dumps(values, **layout) + "\n"
        except ValueError:
            return json.dumps(_without_nan(values), **layout) + "\n"
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _without_nan(values):
    if isinstance(values, dict):
        return {key: _without_nan(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return list(map(_without_nan, values))
    return None if isinstance(values, float) and not math.isfinite(values) else values


def unreadable(path, error):
    """Returns the `UserError` of a file that cannot be read, from the error in it."""
    # A library's own error has no number, and says what is wrong with the contents.
    is_damage = getattr(error, "errno", None) is None
    reason = str(error).partition("\n")[0].rstrip(".") if is_damage else error.strerror
    meant = "; mend the file or leave it out." if is_damage else did_you_mean(path)
    return UserError(f"{path} cannot be read: {reason}{meant or '.'}")


def read_file(path):
    """Reads the bytes of a file that a user names, or raises a `UserError`."""
    try:
        return storage.read_bytes(path)
    except OSError as error:
        raise unreadable(path, error) from error


class RepeatedNameError(ValueError):
    """A JSON object that has a name twice."""


def parse_json(text):
    """Parses JSON; `text` is a str or bytes.

    Raises:
        ValueError: it is not JSON, or is nested more deeply than can be read.
        RepeatedNameError: an object has a name twice, which is no comment ("//").
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_of(path, text):
    """Parses the JSON of a file, of which a `UserError` says that it is none."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error


def _each_once(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        for name, count in counts.items():
            if count > 1 and not name.startswith("//"):
                raise RepeatedNameError(f"it sets {name!r} twice in one object")
    return values


def check_once(path, header, names):
    """Refuses columns that the header of a table names more than once.

    Args:
        path: the table, for the message.
        header: list of the names of all columns.
        names: those of the columns that are read.

    Raises:
        UserError: it names the first of them.
    """
    for name in names:
        if (count := header.count(name)) > 1:
            raise UserError(
                f"{path} has {count} columns {name!r}; give each its own name."
            )


def read_json(path):
    """Reads a JSON value.

    Raises:
        UserError: the file is missing, unreadable, damaged or no JSON.
    """
    data = read_file(path)
    values = parse_json_of(path, data)
    checksums.check_bytes(path, data)
    return values


def read_json_object(path):
    """Reads a JSON object, likewise; another value is a `UserError`, too."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold one JSON object.")
    return values


def read_arrays(path):
    """Reads the arrays of an npz file, a dict by name.

    Raises:
        UserError: the file is missing, unreadable or holds something else.
    """
    import numpy as np

    data = io.BytesIO(read_file(path))
    try:
        with np.lib.npyio.NpzFile(data) as file:
            return dict(file)
    except (ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is not an npz file: {error}.") from error


def find_recipe(name):
    """Finds the path of a JSON file, or of a recipe.

    Args:
        name: a path, or the name of a recipe such as "pretraining/base",
            "glue/rte.json" or "configs/albert/base_v2.json".

    Returns:
        The path as it is if there is such a file, else the path of the recipe; as it
        is, too, if there is neither.

    Raises:
        UserError: there is neither, but a recipe with a similar name.
    """
    path = os.fspath(name)
    if os.path.lexists(path):
        return path
    recipe = path.removeprefix("configs/").removesuffix(".json")
    for place in _RECIPE_FOLDERS:
        found = (place / f"{recipe}.json").resolve()
        if found.is_relative_to(place) and found.is_file():
            return str(found)
    recipes = sorted(
        path.relative_to(place).with_suffix("").as_posix()
        for place in _RECIPE_FOLDERS
        for path in place.rglob("*.json")
    )
    close = close_name(recipe, recipes)
    if close and not did_you_mean(path):
        raise UserError(
            f"There is no file or recipe {path}; did you mean the recipe {close}?"
        )
    return path
