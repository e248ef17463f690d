"""The recipes in configs/pretraining are the paper's, and run when they are shrunk."""

import json

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import phases_from

_PAPER = ("base", "large", "xlarge", "xxlarge")
_RECIPES = (*_PAPER, "two_phases", "roberta_style", "tiny", "wikipedia_small")


@pytest.fixture
def recipe(project):
    """Parses a recipe with flags over it."""

    def read(name, *flags):
        path = project / "configs" / "pretraining" / f"{name}.json"
        argv = ["run_pretraining.py", f"--config={path}", "--output_dir=out"]
        return parse(PretrainingOptions, [*argv, "--input_file=data", *flags])

    return read


def test_every_recipe_is_tested(project):
    files = (project / "configs" / "pretraining").glob("*.json")
    assert {path.stem for path in files} == {
        *_RECIPES,
        "tiny_config",
        "wikipedia_small_config",
    }


@pytest.mark.parametrize("name", _RECIPES)
def test_recipe_says_where_it_comes_from_and_fits_its_model(project, recipe, name):
    path = project / "configs" / "pretraining" / f"{name}.json"
    comments = json.loads(path.read_text())
    assert {"//source", "//hardware", "//data", "//expected"} <= set(comments)
    options = recipe(name)
    config = AlbertConfig.from_json_file(project / options.albert_config_file)
    phases = phases_from(options)
    assert max(p.max_seq_length for p in phases) <= config.max_position_embeddings
    assert options.num_warmup_steps < options.num_train_steps == phases[-1].last_step


@pytest.mark.parametrize("name", _PAPER)
def test_recipe_of_the_paper(project, recipe, name):
    options = recipe(name)
    assert options.albert_config_file == f"configs/albert/{name}_v1.json"
    assert (
        options.optimizer,
        options.train_batch_size,
        options.learning_rate,
        options.num_train_steps,
        options.num_warmup_steps,
        options.max_seq_length,
    ) == ("lamb", 4096, 0.00176, 125_000, 3125, 512)


def test_two_phases_are_90_and_10_percent(recipe):
    first, second = phases_from(recipe("two_phases"))
    assert (first.max_seq_length, second.max_seq_length) == (128, 512)
    assert first.last_step == 0.9 * second.last_step


@pytest.mark.parametrize("name", _RECIPES)
def test_shrunk_recipe_trains(recipe, material, short, dynamic, flags, tmp_path, name):
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
    if name == "roberta_style":
        changes["input_file"] = dynamic / "train.tfrecord"
    pretrain(recipe(name, *flags(**changes)))
    assert (tmp_path / "model" / "model.weights.h5").exists()
