"""The recipes in configs/squad are from the paper and the official README."""

import json

import pytest

from albert_tf.cli import command_line
from albert_tf.tasks.question_answering.flags import SquadOptions
from albert_tf.tasks.question_answering.run import check_flags

# Table 14 of the paper: learning rate, batch, ALBERT dropout, steps, warm-up, tokens.
_TABLE_14 = {1: (5e-5, 48, 0.0, 3649, 365, 384), 2: (3e-5, 48, 0.0, 8144, 814, 512)}


def recipe(project, name):
    path = project / "configs" / "squad" / f"{name}.json"
    argv = ["run_squad.py", "--output_dir=out", f"--config={path}"]
    files = ["--do_train", "--train_file=train.json", "--predict_file=dev.json"]
    options = command_line.parse(SquadOptions, [*argv, *files])
    check_flags(options)
    return options, json.loads(path.read_text())["//source"]


@pytest.mark.parametrize("version", [1, 2])
def test_paper(project, version):
    options, source = recipe(project, f"squad_v{version}")
    assert options.version == version
    assert (
        options.learning_rate,
        options.train_batch_size,
        options.albert_dropout_prob,
        options.train_step,
        options.warmup_step,
        options.max_seq_length,
    ) == _TABLE_14[version]
    assert options.dropout_prob == 0.1
    assert "Table 14" in source


@pytest.mark.parametrize("version", [1, 2])
def test_readme(project, version):
    options, source = recipe(project, f"readme_v{version}")
    assert options.version == version
    assert (
        options.learning_rate,
        options.train_batch_size,
        options.num_train_epochs,
        options.warmup_proportion,
        options.max_seq_length,
    ) == (5e-5, 48, 2.0, 0.1, 384)
    # The checkpoint's configuration says what dropout there is.
    assert options.albert_dropout_prob is None
    assert "README" in source


def test_every_recipe_is_tested(project):
    names = {path.stem for path in (project / "configs" / "squad").glob("*.json")}
    assert names == {"squad_v1", "squad_v2", "readme_v1", "readme_v2"}
