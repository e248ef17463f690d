"""Atomic writes, JSON, npz files, and recipes by name."""

import collections
import contextlib
import glob
import json
import math
import os
import pathlib
import re
import secrets
import tempfile

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import did_you_mean

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
# A wheel holds them inside the package, a checkout beside it.
RECIPE_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def write_atomically(path, data):
    """Writes bytes, or a str as UTF-8, in one step; see `replacing_file`."""
    with replacing_file(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def replacing_file(path):
    """Opens a temporary file for bytes, and renames it to `path` at the end.

    The file is synchronized to the disk first: after a crash of the machine, `path` is
    the earlier file or the new one. The last of several concurrent writers wins.
    Missing folders are made.

    Raises:
        OSError: the file cannot be written; `path` is unchanged.
    """
    path = os.fspath(path)
    storage.make_folder(os.path.dirname(path) or ".")
    if storage.is_remote(path):
        temporary = _temporary_name(path)
        with (
            tempfile.NamedTemporaryFile() as local,
            storage.remote_files(path) as gfile,
        ):
            yield local
            local.flush()
            gfile.copy(local.name, temporary)
            gfile.rename(temporary, path, overwrite=True)
        return
    _remove_leftovers(path)
    file = _new_file(path)
    temporary = file.name
    with storage.naming(path, temporary):
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if fcntl is None:
                    file.close()  # Windows renames no open file.
                os.replace(temporary, path)
        finally:
            storage.remove_file(temporary)


def _temporary_name(path):
    return f"{path}.{secrets.token_hex(4)}.tmp"


def _new_file(path):
    """Creates and opens a temporary file beside `path`, locked while in use."""
    while True:
        temporary = _temporary_name(path)
        with storage.naming(path, temporary):
            # This fails if the name exists, even as a link.
            file = open(temporary, "xb")  # noqa: SIM115
        with contextlib.suppress(OSError):  # a file system without locks
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return file
        file.close()  # Another writer took it for a leftover before it was locked.


def _remove_leftovers(path):
    """Removes temporary files of killed writers of `path`."""
    for left in glob.glob(f"{glob.escape(path)}.*.tmp") if fcntl else ():
        is_ours = re.fullmatch(r"\.[0-9a-f]{8}\.tmp", left[len(path) :])
        if is_ours and os.path.isfile(left) and not os.path.islink(left):
            with contextlib.suppress(OSError), open(left, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.remove(left)


def write_json(path, values):
    """Writes JSON in one step; see `write_atomically`."""
    write_atomically(path, json_text(values))


def json_text(values, indent=2, ensure_ascii=False):
    """Formats JSON, which ends with a newline; NaN and infinity become null.

    Args:
        values: the value.
        indent: spaces of each level; None puts all on one line.
        ensure_ascii: whether to escape other letters.

    Raises:
        ValueError: the value is nested too deeply.
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
    """Returns the `UserError` for a file that cannot be read because of `error`."""
    # A library's own error has no number and describes the contents.
    is_damage = getattr(error, "errno", None) is None
    reason = str(error).partition("\n")[0].rstrip(".") if is_damage else error.strerror
    meant = "; mend the file or leave it out." if is_damage else did_you_mean(path)
    return UserError(f"{path} cannot be read: {reason}{meant or '.'}")


def read_file(path):
    """Reads the bytes of a file, or raises a `UserError`."""
    try:
        return storage.read_bytes(path)
    except OSError as error:
        raise unreadable(path, error) from error


class RepeatedNameError(ValueError):
    """A JSON object names a value twice."""


def parse_json(text, made=None):
    """Parses JSON.

    Args:
        text: a str or bytes.
        made: a function from each object, a dict, to the value that replaces it.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply.
        RepeatedNameError: an object repeats a name that is no comment ("//").
    """
    try:
        hook = _each_once if made is None else lambda pairs: made(_each_once(pairs))
        return json.loads(text, object_pairs_hook=hook)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_of(path, text):
    """Parses the JSON of a file; a `UserError` names the file."""
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
    """Refuses a table that has a column to be read more than once.

    Args:
        path: the table, for the message.
        header: list of the names of all columns.
        names: the names of the columns to be read.
    """
    for name in names:
        if (count := header.count(name)) > 1:
            raise UserError(
                f"{path} has {count} columns {name!r}; give each its own name."
            )


def read_json(path):
    """Reads a JSON value.

    Raises:
        UserError: the file is missing, unreadable, damaged or not JSON.
    """
    data = read_file(path)
    values = parse_json_of(path, data)
    checksums.check_bytes(path, data)
    return values


def read_json_object(path):
    """Reads a JSON object as `read_json`; any other value is a `UserError`, too."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold one JSON object.")
    return values


def read_json_if_there(*path):
    """Reads a JSON object; {} where there is no file. The parts of the path are joined.

    Raises:
        UserError: see `read_json_object`.
    """
    path = os.path.join(*path)
    return read_json_object(path) if storage.exists(path) else {}


def recipe_names():
    """Lists the names that `find_recipe` knows, such as "pretraining/base"."""
    return sorted(
        path.relative_to(place).with_suffix("").as_posix()
        for place in RECIPE_FOLDERS
        for path in place.rglob("*.json")
    )


def find_recipe(name):
    """Finds the path of a JSON file, or of a recipe.

    Args:
        name: a path, or the name of a recipe such as "pretraining/base",
            "glue/rte.json" or "configs/albert/base_v2.json".

    Returns:
        The path of the recipe if there is one and no file of that name; else `name`.

    Raises:
        UserError: there is neither, but a recipe of a similar name.
    """
    path = os.fspath(name)
    if os.path.lexists(path):
        return path
    recipe = path.removeprefix("configs/").removesuffix(".json")
    for place in RECIPE_FOLDERS:
        found = (place / f"{recipe}.json").resolve()
        if found.is_relative_to(place) and found.is_file():
            return str(found)
    close = close_name(recipe, recipe_names())
    if close and not did_you_mean(path):
        raise UserError(
            f"There is no file or recipe {path}; did you mean the recipe {close}?"
        )
    return path
