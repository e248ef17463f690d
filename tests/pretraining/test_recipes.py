"""The recipes in configs/pretraining; tests/golden/recipes.json has their values."""

import json
import pathlib

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.pretraining.by_objective import load_config
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve

_CONFIGS = pathlib.Path(__file__).parents[2] / "configs" / "pretraining"
_FILES = {path.stem: path for path in sorted(_CONFIGS.glob("*.json"))}
_RECIPES = [name for name in _FILES if not name.endswith("_config")]


@pytest.fixture
def recipe():
    """Parses a recipe with flags over it."""

    def read(name, *flags):
        argv = ["run_pretraining.py", f"--config={_FILES[name]}", "--output_dir=out"]
        return parse(PretrainingOptions, [*argv, "--input_file=data", *flags])

    return read


@pytest.mark.parametrize("name", _RECIPES)
def test_recipe_says_where_it_comes_from_and_fits_its_model(project, recipe, name):
    comments = json.loads(_FILES[name].read_text())
    assert {"//source", "//hardware", "//data", "//expected"} <= set(comments)
    options = recipe(name)
    phases = options.phases()
    lengths = [phase.max_seq_length for phase in phases]
    path = project / options.albert_config_file
    load_config(options.objective, path, None, lengths)
    assert (
        options.num_warmup_steps < options.num_train_steps == phases[-1].num_train_steps
    )


def test_the_roberta_of_the_recipes_has_the_published_size(project, recipe):
    path = project / recipe("roberta_base").albert_config_file
    config = AlbertConfig.from_json_file(path)
    assert (config.position_rows, config.padding_idx) == (514, 1)
    # Hugging Face's roberta-base without its head.
    assert sum(encoder_parameters(config).values()) == 124_645_632


@pytest.mark.slow
def test_a_shrunk_recipe_trains(recipe, dynamic, flags, tmp_path):
    changes = {"num_train_steps": 3, "num_warmup_steps": 1, "eval_steps": 0}
    changes |= {"input_file": dynamic / "train.tfrecord", "eval_file": None}
    changes |= {"learning_rate": None, "do_lower_case": True}
    changes["max_predictions_per_seq"] = 5  # of 16 tokens, of which it masks 30%
    pretrain(resolve(recipe("wikipedia_small", *flags(**changes))))
    assert (tmp_path / "model" / "model.weights.h5").exists()


def test_minutes_replace_the_steps_of_a_recipe(recipe):
    options = recipe("wikipedia_small", "--train_minutes=2")
    assert options.train_minutes == 2
    assert options.num_train_steps == PretrainingOptions.num_train_steps
