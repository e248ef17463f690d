"""Trackers: every value, one tracked run for a run however often it stops."""

import json
import pathlib
import sys

import pytest

from albert_tf.engine.reporting.curves import training_scalars
from albert_tf.engine.reporting.trackers import tracking
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.errors import UserError
from tests.trackers import FakeMlflow
from tests.trackers import FakeWandb

RATE = IdentityEntry("learning_rate", 0.05, "--learning_rate")
IDENTITY = (RATE, IdentityEntry("sizes", [2, 3], "Sizes"))


@pytest.fixture
def fakes(monkeypatch):
    """The two trackers, as if installed."""
    found = FakeWandb(), FakeMlflow()
    for module in found:
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return found


@pytest.fixture
def train(make_linear_trainer, batches):
    """Trains a linear model, evaluated every two steps, with trackers."""

    def run(steps, track="wandb, mlflow", **options):
        shared = {"track": track, "identity": IDENTITY, "eval_steps": 2}
        trainer = make_linear_trainer(steps, **shared, **options)
        trainer.train(batches(), batches().take(1))
        return trainer

    return run


def test_trackers_get_every_value(fakes, train):
    directory = train(4).options.output_dir
    of_files = training_scalars(pathlib.Path(directory, "train"))
    entries = json.loads(pathlib.Path(directory, "history.json").read_text())
    history = {entry["step"]: entry for entry in entries}
    seconds = [entry["train_seconds"] for entry in entries]
    assert seconds == sorted({0.0, *seconds}) and len(seconds) == 3
    for fake in fakes:
        values = {}
        for _, step, found in fake.logged:
            for name, value in found.items():
                values.setdefault(name, {})[step] = value
        for name, expected in of_files.items():
            assert values[f"train/{name}"] == pytest.approx(expected)
        assert values["eval/loss"] == {s: history[s]["loss"] for s in (0, 2, 4)}
    wandb, mlflow = fakes
    (begun,) = wandb.begun
    assert begun["config"] == {"learning_rate": 0.05, "sizes": [2, 3]}
    assert (begun["name"], begun["dir"]) == (directory, directory)
    assert mlflow.begun == [(None, directory)]
    assert mlflow.settings == [{"learning_rate": "0.05", "sizes": "[2, 3]"}]
    assert (wandb.ended, mlflow.ended) == ([0], ["FINISHED"])


def test_a_long_setting_is_cut_for_mlflow(fakes, tmp_path):
    with tracking(["mlflow"], str(tmp_path), {"files": "x" * 600}) as log:
        log(1, {"loss": 2.0})
    assert fakes[1].settings == [{"files": "x" * 500}]


def test_a_continued_run_is_the_same_tracked_run(fakes, train):
    train(2)
    train(4, track="wandb")
    train(6)
    wandb, mlflow = fakes
    assert [begun["id"] for begun in wandb.begun] == [None, "wandb-1", "wandb-1"]
    assert {run for run, *_ in wandb.logged} == {"wandb-1"}
    assert [run for run, _ in mlflow.begun] == [None, "mlflow-1"]
    # Settings may have changed since; trackers keep those of the beginning.
    assert [begun["config"] is None for begun in wandb.begun] == [False, True, True]
    assert len(mlflow.settings) == 1
    steps = [step for _, step, values in wandb.logged if "train/loss" in values]
    assert steps == [2, 4, 6]


def test_a_run_that_ends_early_is_told_and_outlives_its_trackers(
    fakes, train, monkeypatch, caplog
):
    def stop(*_):
        raise SystemExit(143)

    def refuse(*_, **__):
        raise ConnectionError("the server is gone")

    wandb, mlflow = fakes
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("albert_tf.engine.trainer.Trainer._loop", stop)
        train(4)
    assert (wandb.ended, mlflow.ended) == ([1], ["KILLED"])
    mlflow.end_run = mlflow.log_metrics = refuse
    train(2)
    assert "mlflow did not record something of the run: the server" in caplog.text
    assert wandb.ended == [1, 0]


def test_a_tracker_that_cannot_begin_stops_the_run_before_its_first_step(fakes, train):
    fakes[1].start_run = lambda **_: 1 / 0
    with pytest.raises(UserError, match="mlflow cannot begin a run .division by zero"):
        train(2)
    # The other one, which had begun, is not left open.
    assert fakes[0].ended == [1]
    fakes[1].start_run = FakeMlflow().start_run
    fakes[1].log_params = lambda _: 1 / 0
    with pytest.raises(UserError, match="mlflow cannot begin a run .division by zero"):
        train(2)
    assert fakes[1].ended == ["FAILED"]
    fakes[1].log_params = FakeMlflow().log_params
    fakes[1].start_run = FakeMlflow().start_run
    train(2)
    fakes[1].start_run = lambda **_: 1 / 0
    with pytest.raises(UserError, match=r"to begin another one, delete .*trackers"):
        train(4)


def test_what_is_no_tracker_is_refused(train, monkeypatch):
    with pytest.raises(UserError, match="'wanbd' is no tracker; expected wandb or ml"):
        train(2, track="wanbd")
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"pip install 'albert-tf\[wandb\]'"):
        train(2, track="wandb")
