"""Going on in other data than that of the checkpoints: refused, or from its start."""

import shutil

import numpy as np
import pytest
from absl import logging

import albert_tf
from albert_tf.command_line import parse
from albert_tf.errors import UserError
from albert_tf.training.pretraining import pretrain
from albert_tf.training.pretraining_options import PretrainingOptions


@pytest.fixture
def run(flags, tmp_path):
    """Pretrains to a step, with data in a folder of its own; returns the weights."""

    def train(steps, folder="data", output="model", **changes):
        changes |= {"num_train_steps": steps, "use_xla": False}
        changes["input_file"] = tmp_path / folder / "train*"
        changes["output_dir"] = tmp_path / output
        pretrain(parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)]))
        model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / output)
        return [np.array(variable) for variable in model.trainable_variables]

    return train


@pytest.fixture(autouse=True)
def data(material, tmp_path):
    shutil.copytree(material / "data", tmp_path / "data")
    return tmp_path / "data"


def test_data_that_was_moved(run, data, tmp_path, caplog):
    run(4)
    data.rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"--input_file=.*moved.* place in data of .*"):
        run(6, "moved")
    caplog.set_level(logging.INFO)
    run(6, "moved", restart_data=True)
    assert "Continuing at step 4" in caplog.text
    run(8, "moved")
    assert "Continuing at step 6" in caplog.text


def test_data_with_one_file_more(run, data):
    run(4)
    shutil.copy(data / "train.tfrecord", data / "train2.tfrecord")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        run(6)
    run(6, restart_data=True)


def test_data_is_read_from_its_beginning(run, tmp_path):
    run(4)
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    on, again = run(6), run(6, output="copy", restart_data=True)
    assert not all(map(np.array_equal, on, again))


@pytest.mark.parametrize(
    ("flag", "value", "before"),
    [("train_batch_size", 8, 16), ("random_seed", 3, 12345)],
)
def test_flags_of_the_data_stay(run, flag, value, before):
    run(2)
    message = f"--{flag}={value}, but the checkpoints in .* of --{flag}={before};"
    with pytest.raises(UserError, match=message):
        run(4, **{flag: value})
    run(4, restart_data=True, **{flag: value})
