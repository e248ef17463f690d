"""The recipes in configs/glue are the paper's, and flags of run_classifier."""

import json

import pytest

from albert_tf.cli import command_line
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.glue import TASKS

# Table 14 of the paper: learning rate, batch, ALBERT dropout, steps, warm-up.
_TABLE_14 = {
    "cola": (1e-5, 16, 0.0, 5336, 320),
    "sts-b": (2e-5, 16, 0.0, 3598, 214),
    "sst-2": (1e-5, 32, 0.0, 20935, 1256),
    "mnli": (3e-5, 128, 0.0, 10000, 1000),
    "qnli": (1e-5, 32, 0.0, 33112, 1986),
    "qqp": (5e-5, 128, 0.1, 14000, 1000),
    "rte": (3e-5, 32, 0.1, 800, 200),
    "mrpc": (2e-5, 32, 0.0, 800, 200),
    "wnli": (2e-5, 16, 0.1, 2000, 250),
}


@pytest.mark.parametrize("task", sorted(_TABLE_14))
def test_recipe(project, task):
    path = project / "configs" / "glue" / f"{task}.json"
    argv = ["run_classifier.py", "--output_dir=out", f"--config={path}"]
    options = command_line.parse(ClassifierOptions, argv)
    assert options.task_name == task
    assert options.max_seq_length == 512
    assert (
        options.learning_rate,
        options.train_batch_size,
        options.albert_dropout_prob,
        options.train_step,
        options.warmup_step,
    ) == _TABLE_14[task]
    assert "Table 14" in json.loads(path.read_text())["//source"]


def test_every_trainable_task_has_a_recipe(project):
    names = {path.stem for path in (project / "configs" / "glue").glob("*.json")}
    assert names == set(TASKS) - {"mismnli", "ax"} == set(_TABLE_14)
