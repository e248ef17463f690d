"""The numbers of a plan: costs, time and speed; a budget of minutes becomes steps."""

import itertools
import json
import types

import pytest

from albert_tf.costs import albert
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.pretraining import plan
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.plan import measured_lines
from albert_tf.pretraining.plan import plan_lines
from albert_tf.pretraining.run import _prepare
from albert_tf.pretraining.run import pretrain
from albert_tf.pretraining.run import with_steps


def test_the_costs_of_each_phase_and_the_speed_of_the_devices(
    settings, short, material
):
    chosen = settings(
        peak_teraflops=0.5,
        input_file=short / "train.tfrecord",
        max_seq_length=8,
        max_predictions_per_seq=2,
        num_train_steps=8,
        first_phase_steps=6,
        second_phase_input_file=material / "data" / "train.tfrecord",
        second_phase_max_seq_length=16,
        second_phase_max_predictions_per_seq=3,
        second_phase_train_batch_size=8,
        second_phase_gradient_accumulation_steps=2,
    )
    *_, trainer = _prepare(chosen)
    kind, config = KINDS[chosen.objective], trainer.model.config
    lines = plan_lines(chosen, trainer, kind)
    costs = []
    for rows, shape in ((16, (8, 2)), (4, (16, 3))):
        flops = albert.training_flops(albert.forward_flops(config, *shape))
        memory = sum(albert.training_memory(config, rows, *shape).values())
        costs.append(
            f"{flops / 1e6:,.1f} MFLOP a token, about {memory / 2**30:,.2f} GiB"
        )
    assert [line.strip() for line in lines[1:8]] == [
        f"steps 0 to 6: {short / 'train.tfrecord'}",
        "batches of 16 sequences of 8 tokens (2 predictions), 1 x 16 a replica",
        f"{costs[0]} a replica",
        f"steps 6 to 8: {material / 'data' / 'train.tfrecord'}",
        "batches of 8 sequences of 16 tokens (3 predictions), 2 x 4 a replica",
        f"{costs[1]} a replica",
        f"in all {6 * 16 * 8 + 2 * 8 * 16:,} tokens, padding included",
    ]
    assert trainer.options.peak_flops == 0.5e12
    found = trainer.options.flops_per_token(8)
    assert found == kind.training_flops(trainer.model, 8, 2)


def test_what_was_measured_is_added_up():
    trainer = types.SimpleNamespace(seconds_per_step=lambda stage, _: stage.batch_size)
    stages = [
        types.SimpleNamespace(batch_size=size, last_step=last)
        for size, last in ((30, 100), (60, 160))
    ]
    assert measured_lines(trainer, stages)[1:] == [
        "  steps 0 to 100: 30 seconds a step, 1 sequences a second",
        "  steps 100 to 160: 60 seconds a step, 1 sequences a second",
        "  training takes 1.83 hours, evaluation and checkpoints apart",
    ]


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
