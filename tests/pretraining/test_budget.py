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
from albert_tf.pretraining.settings import resolve


def settings_of(options):
    return with_steps(resolve(options))


@pytest.fixture
def options_of(options):
    """Makes options without a number of steps."""
    return lambda **changes: options(num_train_steps=None, **changes)


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


def test_the_run_is_one_of_that_many_steps(options_of, a_second_a_step, tmp_path):
    asked = options_of(train_minutes=0.1, output_dir=tmp_path / "minutes")
    settings = settings_of(asked)
    assert settings.num_train_steps == 6
    assert a_second_a_step == [(1, 1), (2, 5)]
    stored = json.loads((tmp_path / "minutes" / plan.STORED).read_text())
    assert stored == {"train_minutes": 0.1, "num_train_steps": 6}
    pretrain(settings)
    assert settings_of(asked).num_train_steps == 6
    assert len(a_second_a_step) == 2  # kept, and not measured again
    info = json.loads((tmp_path / "minutes" / "training_info.json").read_text())
    assert info["options"]["train_minutes"] == 0.1
    assert info["step"] == 6


def test_a_budget_holds_measuring_and_compiling(
    options_of, a_second_a_step, monkeypatch
):
    """A look at the clock takes 2 seconds: 6 for all, of which 1 more compiles.

    Training compiles that step once more.
    """
    clock = types.SimpleNamespace(monotonic=itertools.count(0, 2).__next__)
    monkeypatch.setattr(plan, "time", clock)
    settings = settings_of(options_of(train_minutes=0.5))
    assert settings.num_train_steps == 30 - 6 - 1


def test_steps_are_measured_until_the_first_checkpoint(options_of, a_second_a_step):
    """A run that did not begin may get another model or batch."""
    for minutes, steps in ((0.1, 6), (0.2, 12)):
        settings = settings_of(options_of(train_minutes=minutes))
        assert settings.num_train_steps == steps
    assert len(a_second_a_step) == 4


@pytest.mark.parametrize(
    ("stored", "minutes", "message"),
    [
        ({"train_minutes": 0.1, "num_train_steps": 7}, 0.1, None),
        (
            {"train_minutes": 0.1, "num_train_steps": 7},
            0.2,
            "--train_minutes is 0.2, but the run in",
        ),
    ],
)
def test_a_run_with_checkpoints_keeps_its_number(
    options_of, a_second_a_step, tmp_path, stored, minutes, message
):
    folder = tmp_path / "model"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "training-2.index").touch()
    (folder / plan.STORED).write_text(json.dumps(stored))
    options = options_of(train_minutes=minutes)
    if message is None:
        assert settings_of(options).num_train_steps == 7
    else:
        with pytest.raises(UserError, match=message):
            settings_of(options)
    assert not a_second_a_step


def test_a_dry_run_stores_nothing(options_of, a_second_a_step, tmp_path, capsys):
    pretrain(settings_of(options_of(train_minutes=0.1, dry_run=True)))
    assert "Plan: 6 steps" in capsys.readouterr().out
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_train_steps": 9}, "leave --num_train_steps out"),
        ({"first_phase_steps": 3}, "leave --first_phase_steps out"),
        ({"batch_ramp_steps": 3}, "leave --batch_ramp_steps out"),
        (
            {"distribution_strategy": "multi_worker"},
            "leave --distribution_strategy out",
        ),
        ({"num_warmup_steps": 6}, "6 steps of 1 seconds, and the warm-up has 6"),
    ],
)
def test_mistakes_are_one_sentence(options, a_second_a_step, changes, message):
    values = {"num_train_steps": None, "train_minutes": 0.1, **changes}
    with pytest.raises(UserError, match=message):
        settings_of(options(**values))
