"""The recipes in configs/pretraining are the paper's, and run when they are shrunk."""

import dataclasses
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
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.costs import pretraining_parameters

_PAPER = ("base", "large", "xlarge", "xxlarge")
_CONFIGS = pathlib.Path(__file__).parents[2] / "configs" / "pretraining"
_FILES = {path.stem: path for path in sorted(_CONFIGS.glob("*.json"))}
_RECIPES = [name for name in _FILES if not name.endswith("_config")]
_SHRUNK = ["base", "two_phases", "roberta_style", "tiny", "roberta_tiny", "xlnet_base"]
_TRAINED = [pytest.param(name, marks=pytest.mark.nightly) for name in _SHRUNK]


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


def test_one_recipe_of_the_paper_stands_for_all(recipe):
    """So it is enough to train one; tests/golden/recipes.json has the values."""
    for name in _PAPER:
        model = {"albert_config_file": f"configs/albert/{name}_v1.json"}
        assert recipe(name) == dataclasses.replace(recipe("base"), **model)


def test_recipes_of_others_have_the_published_sizes(project, recipe):
    for name, parameters in (("base", 116_750_336), ("large", 360_300_800)):
        path = project / recipe(f"xlnet_{name}").albert_config_file
        config = XLNetConfig.from_json_file(path)
        assert sum(pretraining_parameters(config).values()) == parameters
        assert (config.mem_len, config.reuse_len, config.dropout) == (384, 256, 0.1)
    path = project / recipe("roberta_base").albert_config_file
    config = AlbertConfig.from_json_file(path)
    assert (config.position_rows, config.padding_idx) == (514, 1)
    # Hugging Face's roberta-base without its head.
    assert sum(encoder_parameters(config).values()) == 124_645_632


def test_two_phases_are_90_and_10_percent(recipe):
    first, second = recipe("two_phases").phases()
    assert (first.max_seq_length, second.max_seq_length) == (128, 512)
    assert first.num_train_steps == 0.9 * second.num_train_steps


@pytest.mark.slow
@pytest.mark.parametrize("name", [*_TRAINED, "wikipedia_small"])
def test_shrunk_recipe_trains(
    recipe, material, short, dynamic, streams, flags, tmp_path, name
):
    changes = {"train_batch_size": 16, "num_train_steps": 3, "num_warmup_steps": 1}
    changes |= {"learning_rate": None, "eval_file": None, "eval_steps": 0}
    if name == "two_phases":
        changes |= {
            "input_file": short / "train.tfrecord",
            "max_seq_length": 8,
            "max_predictions_per_seq": 2,
            "first_phase_steps": 2,
            "second_phase_input_file": material / "data" / "train.tfrecord",
            "second_phase_max_seq_length": 16,
            "second_phase_max_predictions_per_seq": 3,
        }
    if name in ("roberta_style", "roberta_tiny", "wikipedia_small"):
        changes["do_lower_case"] = True
        changes["input_file"] = dynamic / "train.tfrecord"
    if name == "wikipedia_small":
        changes["max_predictions_per_seq"] = 5  # of 16 tokens, of which it masks 30%
    if name == "xlnet_base":
        changes["input_file"] = streams / "train.tfrecord"
        changes["albert_config_file"] = material / "xlnet.json"
        changes["do_lower_case"] = True
    pretrain(resolve(recipe(name, *flags(**changes))))
    assert (tmp_path / "model" / "model.weights.h5").exists()


def test_minutes_replace_the_steps_of_a_recipe(recipe):
    options = recipe("wikipedia_small", "--train_minutes=2")
    assert options.train_minutes == 2
    assert options.num_train_steps == PretrainingOptions.num_train_steps
