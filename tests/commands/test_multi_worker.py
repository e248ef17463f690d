"""Two worker processes on one machine train as one does."""

import json
import signal
import time

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.cli.command_line import parse
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve

pytestmark = [pytest.mark.nightly, pytest.mark.slow]


def weights(folder):
    variables = bundle.open(folder).model().official_variables()
    return {name: v.numpy() for name, v in variables.items() if "key/bias" not in name}


def test_two_workers_equal_one(workers, flags, tmp_path):
    changes = {"num_train_steps": 6, "iterations_per_loop": 3, "do_eval": True}
    alone = flags(output_dir=tmp_path / "alone", **changes)
    expected = pretrain(resolve(parse(PretrainingOptions, ["", *alone])))
    command = flags(distribution_strategy="multi_worker", **changes)
    with workers("run_pretraining.py", command) as (processes, logs):
        pass
    logs = [log.read_text() for log in logs]
    assert [process.returncode for process in processes] == [0, 0], logs[0]
    found, variables = weights(tmp_path / "model"), weights(tmp_path / "alone")
    assert found.keys() == variables.keys()
    for name, value in variables.items():
        np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)
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
        deadline = time.monotonic() + 180
        while "Held out at step 4" not in logs[0].read_text():
            assert time.monotonic() < deadline, logs[1].read_text()
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGTERM)
    codes = [process.returncode for process in processes]
    assert codes == [128 + signal.SIGTERM] * 2, [log.read_text() for log in logs]
    saved = list((tmp_path / "model" / "checkpoints").glob("training-*.index"))
    assert len(saved) == 1
