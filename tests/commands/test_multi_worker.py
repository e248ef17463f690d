"""Two worker processes on one machine train as one does."""

import json
import signal
import time

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve

_SECONDS = 180


def weights(directory):
    model = albert_tf.AlbertForPreTraining.from_pretrained(directory)
    return {name: v.numpy() for name, v in model.official_variables().items()}


@pytest.mark.nightly
@pytest.mark.slow
def test_two_workers_equal_one(workers, flags, tmp_path):
    several = {"num_train_steps": 6, "iterations_per_loop": 3, "do_eval": True}
    alone = flags(output_dir=tmp_path / "alone", **several)
    expected = pretrain(resolve(parse(PretrainingOptions, ["", *alone])))
    command = flags(distribution_strategy="multi_worker", **several)
    with workers("run_pretraining.py", command) as (processes, logs):
        pass
    assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()

    found = weights(tmp_path / "model")
    for name, value in weights(tmp_path / "alone").items():
        if "key/bias" not in name:  # its gradient is rounding noise
            np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)
    results = (tmp_path / "model" / "eval_results.txt").read_text()
    assert f"masked_lm_accuracy = {expected['masked_lm_accuracy']}" in results
    history = json.loads((tmp_path / "model" / "history.json").read_text())
    assert [entry["step"] for entry in history] == [0, 6]
    assert "Held out" in logs[0].read_text()
    assert "Held out" not in logs[1].read_text()


def carried(directory):
    """The memories in the newest checkpoint of a run, and the model's weights."""
    reader = tf.train.load_checkpoint(str(directory / "checkpoints"))
    names = [n for n in reader.get_variable_to_shape_map() if "memories" in n]
    model = albert_tf.XLNetLMHeadModel.from_pretrained(directory)
    weights = {name: v.numpy() for name, v in model.official_variables().items()}
    return {**weights, **{name: reader.get_tensor(name) for name in names}}


@pytest.mark.nightly
@pytest.mark.slow
def test_two_workers_carry_the_memory_of_one(
    workers, flags, streams, material, tmp_path
):
    config = json.loads((material / "xlnet.json").read_text())
    still = {**config, "dropout": 0.0, "dropatt": 0.0}  # replicas drop other entries
    (tmp_path / "still.json").write_text(json.dumps(still))
    several = {
        "objective": "permutation_lm",
        "input_file": streams / "train.tfrecord",
        "eval_file": None,
        "albert_config_file": tmp_path / "still.json",
        "train_batch_size": 8,
        "num_train_steps": 4,
        "iterations_per_loop": 2,
    }
    alone = flags(output_dir=tmp_path / "alone", **several)
    pretrain(resolve(parse(PretrainingOptions, ["", *alone])))
    command = flags(distribution_strategy="multi_worker", **several)
    with workers("run_pretraining.py", command) as (processes, logs):
        pass
    assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()
    expected, found = carried(tmp_path / "alone"), carried(tmp_path / "model")
    assert expected.keys() == found.keys()
    [memories] = [value for name, value in found.items() if "memories" in name]
    assert memories.shape == (8, 1, 6, 8)
    assert np.abs(memories).max(axis=(1, 2, 3)).min() > 0  # of all rows
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-5, err_msg=name)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_signal_to_one_worker_stops_both_at_one_step(workers, flags, tmp_path):
    command = flags(
        distribution_strategy="multi_worker", num_train_steps=1_000_000, eval_steps=4
    )
    with workers("run_pretraining.py", command) as (processes, logs):
        deadline = time.monotonic() + _SECONDS
        while "Held out at step 4" not in logs[0].read_text():
            assert time.monotonic() < deadline, logs[1].read_text()
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGTERM)
    codes = [process.returncode for process in processes]
    assert codes == [128 + signal.SIGTERM] * 2, [log.read_text() for log in logs]
    saved = list((tmp_path / "model" / "checkpoints").glob("training-*.index"))
    assert len(saved) == 1
