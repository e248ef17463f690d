"""Two worker processes on one machine train as one does."""

import json
import signal
import time

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve

pytestmark = [pytest.mark.nightly, pytest.mark.slow]
_SECONDS = 180


@pytest.fixture
def trained(workers, flags, tmp_path):
    """Trains alone and on two workers: the metrics of one, and the logs of both."""

    def train(**changes):
        alone = flags(output_dir=tmp_path / "alone", **changes)
        metrics = pretrain(resolve(parse(PretrainingOptions, ["", *alone])))
        command = flags(distribution_strategy="multi_worker", **changes)
        with workers("run_pretraining.py", command) as (processes, logs):
            pass
        assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()
        return metrics, [log.read_text() for log in logs]

    return train


def state(folder):
    """Reads the weights of a run, and what its last checkpoint hands on."""
    reader = tf.train.load_checkpoint(str(folder / "checkpoints"))
    names = [n for n in reader.get_variable_to_shape_map() if "memories" in n]
    weights = bundle.open(folder).model().official_variables()
    kept = {name: v.numpy() for name, v in weights.items() if "key/bias" not in name}
    return {**kept, **{name: reader.get_tensor(name) for name in names}}


def assert_equal(folder, atol):
    expected, found = state(folder / "alone"), state(folder / "model")
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=atol, err_msg=name)
    return found


def test_two_workers_equal_one(trained, tmp_path):
    several = {"num_train_steps": 6, "iterations_per_loop": 3, "do_eval": True}
    expected, logs = trained(**several)
    assert_equal(tmp_path, 1e-6)
    results = (tmp_path / "model" / "eval_results.txt").read_text()
    assert f"masked_lm_accuracy = {expected['masked_lm_accuracy']}" in results
    history = json.loads((tmp_path / "model" / "history.json").read_text())
    assert [entry["step"] for entry in history] == [0, 6]
    assert ["Held out" in log for log in logs] == [True, False]


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
