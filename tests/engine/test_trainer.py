"""Runs that are interrupted, damaged, divergent; folders of checkpoints after that."""

import concurrent.futures
import gc
import os
import pathlib
import signal
import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph

from albert_tf.engine import processes
from albert_tf.engine.checkpointing import Checkpointing
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.processes import Interruption
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.optimizers import create_optimizer

STEPS = 6


def folder_of(trainer):
    return pathlib.Path(trainer.options.output_dir) / "checkpoints"


def saved_in(folder):
    """The steps that have a checkpoint."""
    return {int(path.stem.removeprefix("training-")) for path in folder.glob("*.index")}


def assert_same_weights(one, other):
    for a, b in zip(one.model.weights, other.model.weights, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_an_interrupted_run_continues_bit_for_bit(
    make_trainer, batches, weights, killed_after, lines
):
    def muon():
        return create_optimizer("muon", 0.05, STEPS, 2, "wsd")

    made = {"dropout": 0.1, "make_optimizer": muon}
    whole = make_trainer(STEPS, directory="whole", save_checkpoints_steps=4, **made)
    whole.train(batches())
    killed_after(4, "whole", "run")
    rest = make_trainer(STEPS, **made)
    rest.train(batches())
    assert any(line.startswith("Continuing at step 4 from") for line in lines)
    assert rest.step == STEPS
    for path, value in weights(whole).items():
        np.testing.assert_array_equal(weights(rest)[path], value)


@pytest.mark.parametrize("on_tpu", [False, True])
def test_a_tpu_compiles_without_being_asked(make_linear_trainer, monkeypatch, on_tpu):
    monkeypatch.setattr("albert_tf.engine.trainer.is_tpu", lambda _: on_tpu)
    trainer = make_linear_trainer(1, use_xla=True)
    assert trainer.options.use_xla
    assert trainer._train_step.options.use_xla is not on_tpu


def graphs():
    gc.collect()
    return [own for own in gc.get_objects() if isinstance(own, FuncGraph)]


@pytest.mark.parametrize(
    ("seconds", "start", "last", "stop", "expected"),
    [
        (0.001, 0, 99, 99, 8),
        (0.001, 8, 99, 99, 10),
        (0.001, 10, 99, 99, 16),
        (0.001, 10, 13, 99, 13),
        (0.001, 10, 99, 11, 11),
        (4.0, 10, 99, 99, 13),
        (5.0, 10, 99, 99, 12),
        (100.0, 10, 99, 99, 11),
    ],
)
def test_a_loop_ends_where_something_is_due(
    seconds, start, last, stop, expected, monkeypatch
):
    monkeypatch.setattr("albert_tf.engine.trainer._LOOP_SECONDS", 12.0)
    make = types.SimpleNamespace
    own = make(
        options=make(iterations_per_loop=10, eval_steps=8, save_checkpoints_steps=0),
        reporter=make(next_stop=lambda step: stop),
        _seconds_per_step={1: seconds},
    )
    assert Trainer._loop_end(own, start, 1, last) == expected


def test_graphs_end_with_their_run(make_linear_trainer, batches):
    before = {id(graph) for graph in graphs()}
    make_linear_trainer(2).train(batches())
    assert [graph for graph in graphs() if id(graph) not in before] == []


@pytest.mark.slow
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    make_linear_trainer, batches, caplog
):
    trainer = make_linear_trainer(STEPS, save_checkpoints_steps=2)
    trainer.train(batches())
    folder = folder_of(trainer)
    (data,) = folder.glob("training-6.data*")
    data.write_bytes(data.read_bytes()[:100])
    again = make_linear_trainer(STEPS)
    again.train(batches())
    assert again.step == STEPS
    assert_same_weights(trainer, again)
    assert "Skipping the checkpoint" in caplog.text
    for data in folder.glob("*.data*"):
        data.write_bytes(b"")
    match = "can be used: training-6 .*, with --restart_data if its data was moved"
    with pytest.raises(UserError, match=match):
        make_linear_trainer(STEPS).train(batches())


@pytest.mark.slow
def test_divergence_stops_at_the_last_good_step(make_linear_trainer, good_and_bad):
    """Bad steps are counted over the loops; a good one in between starts anew.

    Checkpoints of bad steps would replace those from which a run can go on.
    """
    good, bad = good_and_bad
    start = good.take(1).concatenate(bad.take(2)).concatenate(good.take(1))
    dataset = start.concatenate(bad)
    often = {"save_checkpoints_steps": 1, "iterations_per_loop": 1}
    trainer = make_linear_trainer(9, max_bad_steps=3, keep_checkpoint_max=2, **often)
    with pytest.raises(UserError, match="in any step from 5 to 7. Lower --learning_ra"):
        trainer.train(dataset)
    assert saved_in(folder_of(trainer)) == {1, 4}
    last_good = make_linear_trainer(4, directory="good")
    last_good.train(dataset)
    assert_same_weights(trainer, last_good)


@pytest.mark.slow
def test_the_last_step_is_saved_before_a_worker_is_lost(make_linear_trainer, batches):
    trainer = make_linear_trainer(2, evaluator=LostWorker(), eval_at_start=False)
    with pytest.raises(UserError, match="Another worker ended .* continue from the"):
        trainer.train(batches(), batches())
    assert saved_in(folder_of(trainer)) == {2}
    early = make_linear_trainer(2, directory="early")
    early._device_loop = LostWorker()
    with pytest.raises(UserError, match="Another worker ended"):
        early.train(batches())
    apart = make_linear_trainer(2, directory="apart")
    apart._workers = types.SimpleNamespace(all_values=lambda step: [int(step), 4, 0])
    with pytest.raises(UserError, match=r"of the steps \[0, 4\].; name an --output_d"):
        apart.train(batches())


class LostWorker:
    """An evaluator, or anything else, that waits for a worker which is gone."""

    def evaluate(self, *_):
        raise tf.errors.UnavailableError(None, None, "Socket closed")

    run = evaluate


@pytest.mark.slow
def test_a_signal_during_the_last_save_is_obeyed_after_it(
    make_linear_trainer, batches, monkeypatch
):
    save_checkpoint = tf.train.CheckpointManager.save

    def interrupted_save(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return save_checkpoint(*arguments, **options)

    monkeypatch.setattr(tf.train.CheckpointManager, "save", interrupted_save)
    trainer = make_linear_trainer(2)
    with pytest.raises(SystemExit) as stop:
        trainer.train(batches())
    assert stop.value.code == 128 + signal.SIGTERM
    assert saved_in(folder_of(trainer)) == {2}


@pytest.fixture
def outer():
    """The signals that reach whoever was there before."""
    reached = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(n, lambda n, _: reached.append(n)) for n in numbers]
    yield reached
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_two_signals_at_once_are_one_request(first, monkeypatch, outer):
    now, second = [100.0], signal.SIGINT
    monkeypatch.setattr(processes.time, "monotonic", lambda: now[0])
    with Interruption() as asked:
        signal.raise_signal(first)
        now[0] += 0.02
        signal.raise_signal(second)
        assert (asked.signal, outer) == (first, [])
        now[0] += 1.1
        signal.raise_signal(second)
        assert (asked.signal, outer) == (first, [second])
        signal.raise_signal(first)
        assert outer == [second, first]
    signal.raise_signal(first)  # the signals are given back
    assert outer == [second, first, first]
    with concurrent.futures.ThreadPoolExecutor() as other, Interruption():
        other.submit(Interruption().__enter__).result()  # elsewhere it does nothing


@pytest.fixture
def checkpoints(tmp_path):
    """Makes the checkpoints of one number, as a process that starts finds them."""

    def make(keep=0, writes=True):
        number, rest = tf.Variable(0.0), (writes, RunRecord(), [])
        return number, Checkpointing(str(tmp_path), keep, *rest, number=number)

    return make


def save(made, *steps):
    number, checkpointing = made
    for step in steps:
        number.assign(step)
        checkpointing.save(step)


@pytest.mark.parametrize(
    ("contents", "writes"),
    [(None, True), (b"\x00\xff", False), (b'model_checkpoint_path: "', True)],
)
def test_a_lost_or_damaged_list_loses_no_checkpoint(
    checkpoints, tmp_path, contents, writes
):
    save(checkpoints(), 2, 9, 10)
    (tmp_path / "checkpoint").unlink()
    if contents is not None:
        (tmp_path / "checkpoint").write_bytes(contents)
    number, checkpointing = checkpoints(keep=2, writes=writes)
    assert checkpointing.restore() == str(tmp_path / "training-10")
    assert number.numpy() == 10
    if writes:
        last = tf.train.latest_checkpoint(str(tmp_path))
        assert last == str(tmp_path / "training-10")
    save((number, checkpointing), 12)
    assert saved_in(tmp_path) == ({10, 12} if writes else {9, 10, 2})


def test_missing_files_fall_back_with_a_warning(checkpoints, tmp_path, caplog):
    save(checkpoints(), 2, 4, 6)
    (tmp_path / "training-6.index").unlink()
    number, checkpointing = checkpoints(keep=3)
    assert checkpointing.restore() == str(tmp_path / "training-4")
    assert f"Skipping the checkpoint {tmp_path}/training-6" in caplog.text
    assert not list(tmp_path.glob("training-6.*"))
    save((number, checkpointing), 8)  # in the place of no other
    assert saved_in(tmp_path) == {2, 4, 8}
    for path in tmp_path.glob("training-*"):
        path.unlink()
    with pytest.raises(UserError, match="checkpoint lists checkpoints, but all of"):
        checkpoints()


@pytest.mark.parametrize(
    ("steps", "writes", "expected"),
    [
        ((), True, ["Nothing is saved yet; the run will begin again at step 0"]),
        ((4,), True, ["Saved: step 4, in {}"]),
        ((4,), False, []),
    ],
)
def test_a_stopped_run_tells_what_is_saved(
    steps, writes, expected, checkpoints, tmp_path, lines
):
    number, checkpointing = checkpoints(writes=writes)
    save((number, checkpointing), *steps)
    lines.clear()
    with pytest.raises(SystemExit), checkpointing.told_of_when_stopped():
        raise SystemExit
    assert lines == [line.format(tmp_path) for line in expected]


def test_what_a_killed_save_leaves_is_removed(checkpoints, tmp_path):
    save(checkpoints(), 2)
    (tmp_path / "training-3_temp").mkdir()
    (tmp_path / "training-3_temp" / "part-00000").write_bytes(b"half")
    (tmp_path / "best-2.tmp").mkdir()
    (tmp_path / f"checkpoint.tmp{'0' * 32}").write_bytes(b"half")
    checkpoints(writes=False)
    assert (tmp_path / "training-3_temp").exists()
    _, checkpointing = checkpoints()
    assert not (tmp_path / "training-3_temp").exists()
    assert len(list(tmp_path.iterdir())) == 3  # the list, and two files
    assert checkpointing.restore() == str(tmp_path / "training-2")
