"""Runs that are interrupted, damaged, divergent or badly divided."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.optimizers import create_optimizer

STEPS = 6


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


@pytest.mark.slow
@pytest.mark.parametrize(("every", "saved"), [(2, "Saved: step 2,"), (9, "Nothing")])
def test_stopped_at_once_it_says_what_is_saved(
    make_linear_trainer, batches, monkeypatch, lines, every, saved
):
    trainer = make_linear_trainer(STEPS, save_checkpoints_steps=every)
    loop = trainer._loop

    def loop_twice(*arguments):
        if trainer.step == 2:
            raise KeyboardInterrupt
        loop(*arguments)

    monkeypatch.setattr(trainer, "_loop", loop_twice)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(batches())
    assert lines[-1].startswith(saved)


@pytest.mark.slow
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    make_linear_trainer, batches, caplog
):
    trainer = make_linear_trainer(STEPS, save_checkpoints_steps=2)
    trainer.train(batches())
    folder = pathlib.Path(trainer.options.output_dir) / "checkpoints"
    (data,) = folder.glob("training-6.data*")
    data.write_bytes(data.read_bytes()[:100])
    again = make_linear_trainer(STEPS)
    again.train(batches())
    assert again.step == STEPS
    for own, other in zip(trainer.model.weights, again.model.weights, strict=True):
        np.testing.assert_array_equal(own, other)
    assert "Skipping the checkpoint" in caplog.text
    for data in folder.glob("*.data*"):
        data.write_bytes(b"")
    match = "can be used: training-6 .*, with --restart_data if its data was moved"
    with pytest.raises(UserError, match=match):
        make_linear_trainer(STEPS).train(batches())


@pytest.mark.slow
def test_divergence_stops_with_advice(make_linear_trainer, good_and_bad):
    """Bad steps are counted over the loops; a good one in between starts anew."""
    good, bad = good_and_bad
    start = good.take(1).concatenate(bad.take(2)).concatenate(good.take(1))
    dataset = start.concatenate(bad)
    trainer = make_linear_trainer(9, max_bad_steps=3, save_checkpoints_steps=4)
    with pytest.raises(UserError, match="in any step from 5 to 7. Lower --learning_ra"):
        trainer.train(dataset)
    last_good = make_linear_trainer(4)
    last_good.train(dataset)
    for own, other in zip(trainer.model.weights, last_good.model.weights, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.slow
def test_the_last_step_is_saved_before_a_worker_is_lost(make_linear_trainer, batches):
    trainer = make_linear_trainer(2, evaluator=LostWorker(), eval_at_start=False)
    with pytest.raises(UserError, match="Another worker ended .* continue from the"):
        trainer.train(batches(), batches())
    folder = pathlib.Path(trainer.options.output_dir) / "checkpoints"
    assert list(folder.glob("training-2.index"))
    early = make_linear_trainer(2, directory="early")
    early._device_loop = LostWorker()
    with pytest.raises(UserError, match="Another worker ended"):
        early.train(batches())


class LostWorker:
    """An evaluator, or anything else, that waits for a worker which is gone."""

    def evaluate(self, *_):
        raise tf.errors.UnavailableError(None, None, "Socket closed")

    run = evaluate
