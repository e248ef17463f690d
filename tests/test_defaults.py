"""Defaults of flags and of the Python interface, and recipes, flag by flag.

An unintended change is seen. `python -m tests.test_defaults` writes both files anew;
look at their differences.
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import re

import albert_tf
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
# What Python calls besides the names of the package.
_MODULES = """
inference.masked_words inference.minimal_pairs objectives.replaced_tokens optimizers
optimizers.adam optimizers.muon optimizers.schedules tokenization.tokenizer
exit_rule objectives.base row_layout tasks.classification.text_task
tasks.multiple_choice.task tasks.question_answering.task tasks.similarity.task
tasks.tagging.task tasks.question_answering.windows
"""
_OF_MACHINES = ("num_threads", "workers")
_BOUNDS = ("minimum", "maximum", "may_change")


def _flags():
    """Finds what declares flags: the class, and the default and bounds of its own."""
    texts = {
        ".".join(path.relative_to(_ROOT).with_suffix("").parts): path.read_text()
        for room in ("albert_tf", "data_pipeline")
        for path in sorted((_ROOT / room).rglob("*.py"))
    }
    made = re.findall(r"@dataclasses\.dataclass.*", "\n".join(texts.values()))
    assert len(made) > 80 and all("frozen=True" in line for line in made)
    declares = re.compile(r" (option|altered|c\w+)\(").search
    for name in filter(lambda name: declares(texts[name]), texts):
        for value in vars(importlib.import_module(name)).values():
            if dataclasses.is_dataclass(value) and value.__module__ == name:
                own = value.__dict__.get("__annotations__", {})
                fields = [f for f in dataclasses.fields(value) if f.name in own]
                if fields := [f for f in fields if "minimum" in f.metadata]:
                    facts = {field.name: _facts(field) for field in fields}
                    yield f"{name}.{value.__name__}", facts


def _facts(field):
    has_one = field.default is not dataclasses.MISSING
    default = field.default if has_one and field.name not in _OF_MACHINES else None
    return [default, *map(field.metadata.get, _BOUNDS), field.kw_only]


def _functions():
    """Yields classes, functions and methods, each with the defaults of its numbers."""
    modules = (importlib.import_module(f"albert_tf.{m}") for m in _MODULES.split())
    values = [getattr(albert_tf, name) for name in albert_tf.__all__]
    values += [value for module in modules for value in vars(module).values()]
    for value in values:
        names = [n for n in dir(value) if n[0] != "_" or n == "__call__"]
        members = [getattr(value, n) for n in names] if inspect.isclass(value) else []
        for one in (value, *members):
            own = str(getattr(one, "__module__", "")).startswith("albert_tf")
            if own and callable(one) and one is not albert_tf.UserError:
                told = inspect.signature(one).parameters.values()
                kinds = bool | int | float | str
                if found := {
                    p.name: p.default for p in told if isinstance(p.default, kinds)
                }:
                    yield one.__qualname__, found


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
    assert dict([*_flags(), *_functions()]) == json.loads(_GOLDEN.read_text())


def test_every_recipe_means_what_it_meant():
    assert resolved() == json.loads(_RECIPES.read_text())


if __name__ == "__main__":
    _RECIPES.write_text(json.dumps(resolved(), indent=1, sort_keys=True) + "\n")
    text = json.dumps(dict([*_flags(), *_functions()]), indent=1)
    lists = re.sub(r"\[[^]]*\]", lambda found: " ".join(found[0].split()), text)
    _GOLDEN.write_text(lists + "\n")
