"""Going on in other data than the checkpoints': refused, or from its start."""

import shutil

import numpy as np
import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve


@pytest.fixture
def run(flags, tmp_path):
    """Pretrains to a step, with data in a folder of its own; returns the weights."""

    def train(steps, folder="data", output="model", **changes):
        changes |= {"num_train_steps": steps, "use_xla": False, "eval_file": None}
        changes["input_file"] = tmp_path / folder / "train*"
        changes["output_dir"] = tmp_path / output
        pretrain(
            resolve(
                parse(PretrainingOptions, ["run_pretraining.py", *flags(**changes)])
            )
        )
        model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / output)
        return [np.array(variable) for variable in model.trainable_variables]

    return train


@pytest.fixture(autouse=True)
def data(material, tmp_path):
    shutil.copytree(material / "data", tmp_path / "data")
    return tmp_path / "data"


@pytest.mark.slow
def test_data_that_was_moved(run, data, tmp_path, lines):
    run(1)
    data.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        run(2, "moved")
    for flag, before, changes in (
        ("train_batch_size is 8", "16", {"train_batch_size": 8}),
        ("random_seed is 3", "12345", {"random_seed": 3}),
    ):
        with pytest.raises(UserError, match=f"--{flag}, but .* has {before}; go on"):
            run(2, "moved", **changes)
    run(2, "moved", restart_data=True, train_batch_size=8)
    run(3, "moved", train_batch_size=8)
    steps = [line for line in lines if line.startswith("Continuing")]
    assert [line.split()[3] for line in steps] == ["1", "2"]


@pytest.mark.slow
@pytest.mark.nightly
def test_data_with_one_file_more(run, data):
    (data / "dataset_info.json").unlink()  # which would list the files
    (data / "SHA256SUMS").unlink()
    run(1)
    shutil.copy(data / "train.tfrecord", data / "train2.tfrecord")
    with pytest.raises(UserError, match="No checkpoint in .* with --restart_data if"):
        run(2)
    run(2, restart_data=True)


@pytest.mark.slow
def test_data_is_read_from_its_beginning(run, tmp_path):
    run(1)
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    on, again = run(2), run(2, output="copy", restart_data=True)
    assert not all(map(np.array_equal, on, again))
