"""Meaning of every recipe, flag by flag: a default's unintended change is seen.

`python tests/test_resolved_recipes.py` writes the file anew; look at its difference.
"""

import dataclasses
import json
import pathlib

from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.tagging.flags import TaggingOptions

_GOLDEN = pathlib.Path(__file__).parent / "golden" / "recipes.json"
_CONFIGS = pathlib.Path(__file__).parent.parent / "configs"
_FOLDERS = {
    "pretraining": PretrainingOptions,
    "glue": ClassifierOptions,
    "race": RaceOptions,
    "squad": SquadOptions,
    "tagging": TaggingOptions,
}


def resolved():
    """The defaults of each command, and how each recipe differs from them."""
    found = {}
    for folder, options_class in _FOLDERS.items():
        defaults = _values(options_class)
        found[folder] = defaults
        for path in sorted((_CONFIGS / folder).glob("*.json")):
            if path.stem.endswith("_config"):
                continue
            values = _values(options_class, path)
            found[f"{folder}/{path.stem}"] = {
                name: value
                for name, value in values.items()
                if value != defaults.get(name)
            }
    return found


def _values(options_class, recipe=None):
    chosen = json.loads(recipe.read_text()) if recipe else {}
    # What has no default and no value in the recipe.
    placeholders = [
        f"--{field.name}=-"
        for field in dataclasses.fields(options_class)
        if field.default is dataclasses.MISSING and field.name not in chosen
    ]
    argv = [f"--config={recipe}"] if recipe else []
    options = parse(options_class, ["run", *placeholders, *argv])
    values = dataclasses.asdict(options)
    return {name: value for name, value in values.items() if value != "-"}


def test_every_recipe_means_what_it_meant():
    assert resolved() == json.loads(_GOLDEN.read_text())


if __name__ == "__main__":
    _GOLDEN.write_text(json.dumps(resolved(), indent=1, sort_keys=True) + "\n")
