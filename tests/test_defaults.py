"""Defaults of flags and functions, and recipes, flag by flag.

An unintended change is seen. `python -m tests.test_defaults` writes both files anew;
look at their differences.
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import re

from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.tagging.flags import TaggingOptions

_ROOT = pathlib.Path(__file__).parent.parent
_GOLDEN = _ROOT / "tests" / "golden" / "defaults.json"
_RECIPES = _GOLDEN.with_name("recipes.json")
_FOLDERS = {
    "pretraining": PretrainingOptions,
    "glue": ClassifierOptions,
    "race": RaceOptions,
    "squad": SquadOptions,
    "tagging": TaggingOptions,
}
_OF_MACHINES = ("num_threads", "workers")
_BOUNDS = ("minimum", "maximum", "may_change")


def _defaults():
    """Yields the names of all that has defaults, with these: flags, and functions."""
    for name, value in _definitions():
        for member, found in _of_one(value):
            if found:
                yield f"{name}.{member.__qualname__}", found


def _definitions():
    """Yields what the modules of both packages define, each with its module's name."""
    for room in ("albert_tf", "data_pipeline"):
        for path in sorted((_ROOT / room).rglob("*.py")):
            if path.stem != "__main__" and path.parent.name != "remote_code":
                name = ".".join(path.relative_to(_ROOT).with_suffix("").parts)
                for value in vars(importlib.import_module(name)).values():
                    if getattr(value, "__module__", None) == name:
                        yield name, value


def _of_one(value):
    """Yields a class that declares flags with these, and methods or the function."""
    members = dict(vars(value)) if inspect.isclass(value) else {"": value}
    if dataclasses.is_dataclass(value):
        own = [f for f in dataclasses.fields(value) if f.name in value.__annotations__]
        if flags := [field for field in own if "minimum" in field.metadata]:
            yield value, {field.name: _facts(field) for field in flags}
            members.pop("__init__")
    for member in members.values():
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            yield function, _plain_defaults(function)


def _plain_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    kinds = bool | int | float | str
    return {p.name: p.default for p in parameters if isinstance(p.default, kinds)}


def _facts(field):
    has_one = field.default is not dataclasses.MISSING
    default = field.default if has_one and field.name not in _OF_MACHINES else None
    return [default, *map(field.metadata.get, _BOUNDS), field.kw_only]


def _values(options_class, recipe=None):
    """Returns the options of a recipe, or the defaults, but for what has none."""
    chosen = json.loads(recipe.read_text()) if recipe else {}
    placeholders = [
        f"--{field.name}=-"
        for field in dataclasses.fields(options_class)
        if field.default is dataclasses.MISSING and field.name not in chosen
    ]
    argv = [f"--config={recipe}"] if recipe else []
    values = dataclasses.asdict(parse(options_class, ["run", *placeholders, *argv]))
    return {name: value for name, value in values.items() if value != "-"}


def resolved():
    """The defaults of each command, and how each recipe differs from them."""
    found = {}
    for folder, options_class in _FOLDERS.items():
        found[folder] = defaults = _values(options_class)
        for path in sorted((_ROOT / "configs" / folder).glob("*.json")):
            if not path.stem.endswith("_config"):
                values = _values(options_class, path).items()
                own = {name: v for name, v in values if v != defaults.get(name)}
                found[f"{folder}/{path.stem}"] = own
    return found


def test_defaults_are_what_they_were():
    assert dict(_defaults()) == json.loads(_GOLDEN.read_text())


def test_every_recipe_means_what_it_meant():
    assert resolved() == json.loads(_RECIPES.read_text())


if __name__ == "__main__":
    _RECIPES.write_text(json.dumps(resolved(), indent=1, sort_keys=True) + "\n")
    text = json.dumps(dict(_defaults()), indent=1)
    lists = re.sub(r"\[[^]]*\]", lambda found: " ".join(found[0].split()), text)
    _GOLDEN.write_text(lists + "\n")
