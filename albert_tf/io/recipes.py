"""The recipes that come with the package: the files of `configs/`."""

import os
import pathlib

from albert_tf.errors import UserError
from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import did_you_mean

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
# A wheel holds them inside the package, a checkout beside it.
_PLACES = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


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
    if os.path.exists(path):
        return path
    recipe = path.removeprefix("configs/").removesuffix(".json")
    for place in _PLACES:
        found = (place / f"{recipe}.json").resolve()
        if found.is_relative_to(place) and found.is_file():
            return str(found)
    close = close_name(recipe, _names())
    if close and not did_you_mean(path):
        raise UserError(
            f"There is no file or recipe {path}; did you mean the recipe {close}?"
        )
    return path


def _names():
    """Lists the names of all recipes."""
    return sorted(
        path.relative_to(place).with_suffix("").as_posix()
        for place in _PLACES
        for path in place.rglob("*.json")
    )
