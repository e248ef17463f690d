"""run_pretraining.py: train, stop, go on, evaluate, refuse; with two workers as one."""

import json
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.pretraining import run as pretraining_run
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.settings import resolve
from tests.child_processes import wait_until


def run(command_line):
    options = parse(PretrainingOptions, ["run_pretraining.py", *command_line])
    return pretrain(resolve(options))


@pytest.mark.slow
def test_train_then_go_on_in_a_bucket(flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Nothing may appear in a folder `ram:` here.
    bucket = f"ram://{tmp_path.name}/model"
    run(flags(output_dir=bucket, num_train_steps=6, eval_file=None))
    results = run(flags(output_dir=bucket, do_eval=True, eval_steps=4))
    history = json.loads(storage.read_bytes(f"{bucket}/history.json"))
    assert [entry["step"] for entry in history] == [8, 12]
    assert history[-1]["masked_lm_loss"] < history[0]["masked_lm_loss"]
    assert len(storage.matching(f"{bucket}/checkpoints", "best-*")) == 1
    lines = storage.read_bytes(f"{bucket}/eval_results.txt").decode().splitlines()
    written = dict(line.split(" = ") for line in lines)
    assert written["global_step"] == "12"
    assert float(written["masked_lm_accuracy"]) == results["masked_lm_accuracy"]

    model = albert_tf.AlbertForPreTraining.from_pretrained(bucket)
    tokenizer = albert_tf.load_tokenizer(bucket)
    ids = np.array([tokenizer.encode("the cat sat")])
    assert model({"input_ids": ids})["sentence_order_logits"].shape == (1, 2)

    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_script_stops_on_a_signal_and_goes_on(project, flags, tmp_path, lines):
    command = [sys.executable, "run_pretraining.py"]
    command += flags(num_train_steps=100_000, output_dir=tmp_path / "long")
    with subprocess.Popen(
        command, cwd=project, stderr=subprocess.PIPE, text=True
    ) as process:
        # The first evaluation is logged just before the first step.
        next(line for line in process.stderr if "Held out at step 0" in line)
        process.send_signal(signal.SIGTERM)
        logged = process.stderr.read()
    assert process.returncode == 128 + signal.SIGTERM
    assert "SIGTERM received" in logged and "Traceback" not in logged
    checkpoints = list((tmp_path / "long" / "checkpoints").glob("*.index"))
    steps = int(checkpoints[0].stem.removeprefix("training-"))

    assert f"Saved: step {steps}, in {tmp_path}/long/checkpoints\n" in logged
    (_, to_go_on) = logged.split("To continue, run: ")
    python, script, *command = shlex.split(to_go_on.splitlines()[0])
    assert (python, script) == (sys.executable, "run_pretraining.py")
    run([*command, f"--num_train_steps={steps + 4}", "--eval_file="])
    assert any(line.startswith(f"Continuing at step {steps} from") for line in lines)


def test_official_data_of_other_lengths_is_an_error(flags, material, tmp_path):
    """Files without a description, as the official script leaves them."""
    data = tmp_path / "official.tfrecord"
    data.write_bytes((material / "data" / "train.tfrecord").read_bytes())
    with pytest.raises(UserError, match="cannot be read as TFRecords of these"):
        run(flags(input_file=data, max_predictions_per_seq=4))


@pytest.mark.slow
def test_the_seed_and_the_optimizer_reach_the_trainer(flags, monkeypatch):
    trainers = []
    monkeypatch.setattr(
        pretraining_run, "_train", lambda trainer, *_: trainers.append(trainer)
    )
    for changes in ({}, {"optimizer": "adamw"}, {"random_seed": 1}):
        run(flags(**changes))
    names = [type(trainer.optimizer).__name__ for trainer in trainers]
    assert names == ["LAMB", "AdamW", "LAMB"]
    assert [trainer.options.seed for trainer in trainers] == [12345, 12345, 1]
    first, same, other = (np.array(t.model.trainable_weights[0]) for t in trainers)
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def weights(folder):
    variables = bundle.open(folder).model().official_variables()
    return {name: v.numpy() for name, v in variables.items() if "key/bias" not in name}


@pytest.mark.nightly
@pytest.mark.slow
def test_two_workers_equal_one(workers, flags, tmp_path):
    changes = {"num_train_steps": 6, "iterations_per_loop": 3, "do_eval": True}
    expected = run(flags(output_dir=tmp_path / "alone", **changes))
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


@pytest.mark.nightly
@pytest.mark.slow
def test_a_signal_to_one_worker_stops_both_at_one_step(workers, flags, tmp_path):
    steps = {"num_train_steps": 1_000_000, "eval_steps": 4}
    command = flags(distribution_strategy="multi_worker", **steps)
    with workers("run_pretraining.py", command) as (processes, logs):
        wait_until(lambda: "Held out at step 4" in logs[0].read_text(), 180)
        processes[1].send_signal(signal.SIGTERM)
    codes = [process.returncode for process in processes]
    assert codes == [128 + signal.SIGTERM] * 2, [log.read_text() for log in logs]
    saved = list((tmp_path / "model" / "checkpoints").glob("training-*.index"))
    assert len(saved) == 1
