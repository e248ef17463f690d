"""The recipes in configs/race are from the paper and the official README."""

import json

import pytest

from albert_tf.cli import command_line
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.multiple_choice.run import check_flags

# Table 14 of the paper: learning rate, batch, ALBERT and classifier dropout, steps,
# warm-up, tokens. The README changes two of them for version 2.
_TABLE_14 = (2e-5, 32, 0.1, 0.1, 12000, 1000, 512)
_VERSION_2 = (1e-5, 32, 0.0, 0.1, 12000, 1000, 512)


@pytest.mark.parametrize(
    ("name", "values", "source"),
    [("version_1", _TABLE_14, "Table 14"), ("version_2", _VERSION_2, "README")],
)
def test_values(project, name, values, source):
    path = project / "configs" / "race" / f"{name}.json"
    argv = ["run_race.py", "--output_dir=out", f"--config={path}"]
    options = command_line.parse(RaceOptions, [*argv, "--do_train", "--data_dir=data"])
    check_flags(options)
    assert values == (
        options.learning_rate,
        options.train_batch_size,
        options.albert_dropout_prob,
        options.dropout_prob,
        options.train_step,
        options.warmup_step,
        options.max_seq_length,
    )
    assert (options.task_name, options.max_qa_length) == ("race", 128)
    assert source in json.loads(path.read_text())["//source"]


def test_every_recipe_is_tested(project):
    names = {path.stem for path in (project / "configs" / "race").glob("*.json")}
    assert names == {"version_1", "version_2"}
