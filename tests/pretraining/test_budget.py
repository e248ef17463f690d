"""A budget of minutes becomes a number of steps, once."""

import itertools
import json
import types

import pytest

from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.pretraining import plan
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.run import with_steps


@pytest.fixture
def planned(settings):
    """Makes the settings of a run whose number of steps its budget decides."""
    return lambda **changes: with_steps(settings(num_train_steps=None, **changes))


@pytest.fixture
def a_second_a_step(monkeypatch):
    """A machine on which each step takes a second, and all else no time."""
    calls = []

    def measured(trainer, stage, loops, steps=1):
        calls.append((loops, steps))
        return 1.0

    monkeypatch.setattr(Trainer, "seconds_per_step", measured)
    still = types.SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr(plan, "time", still)
    return calls


@pytest.mark.slow
def test_steps_are_measured_until_the_first_checkpoint(
    planned, a_second_a_step, tmp_path, capsys
):
    """A run that did not begin may get another model or batch."""
    assert planned(train_minutes=0.2).num_train_steps == 12
    assert planned(train_minutes=0.1).num_train_steps == 6
    assert a_second_a_step == [(1, 1), (2, 5)] * 2
    folder = tmp_path / "model"
    stored = {"train_minutes": 0.1, "num_train_steps": 6}
    assert json.loads((folder / plan.STORED).read_text()) == stored
    (folder / plan.STORED).write_text(json.dumps({**stored, "num_train_steps": 7}))
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "training-2.index").touch()
    assert planned(train_minutes=0.1).num_train_steps == 7
    with pytest.raises(UserError, match="--train_minutes is 0.2, but the run in"):
        planned(train_minutes=0.2)
    assert len(a_second_a_step) == 4
    pretrain(planned(train_minutes=0.1, dry_run=True, output_dir=tmp_path / "dry"))
    assert "Plan: 6 steps" in capsys.readouterr().out
    assert not (tmp_path / "dry").exists()


def test_a_budget_holds_measuring_and_compiling(planned, a_second_a_step, monkeypatch):
    """A look at the clock takes 2 seconds: 6 for all, of which 1 more compiles.

    Training compiles that step once more.
    """
    clock = types.SimpleNamespace(monotonic=itertools.count(0, 2).__next__)
    monkeypatch.setattr(plan, "time", clock)
    assert planned(train_minutes=0.5).num_train_steps == 30 - 6 - 1


def test_a_budget_below_the_warm_up_is_refused(planned, a_second_a_step):
    message = "6 steps of 1 seconds, and the warm-up has 6"
    with pytest.raises(UserError, match=message):
        planned(train_minutes=0.1, num_warmup_steps=6)
