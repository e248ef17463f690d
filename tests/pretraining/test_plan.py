"""Phases of a run, their lengths and costs; a budget of minutes becomes steps."""

import dataclasses
import itertools
import json
import types
from unittest import mock

import pytest

from albert_tf.costs import albert
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.pretraining import plan
from albert_tf.pretraining import run
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.flags import DataFlags


def phases(**flags):
    usual = {"max_seq_length": 128, "train_batch_size": 24, "num_train_steps": 100}
    return DataFlags(input_file="data", **{**usual, **flags}).phases()


def test_the_second_phase_changes_what_it_says():
    (phase,) = phases(gradient_accumulation_steps=2)
    assert [*vars(phase).values()] == [24, 100, "data", 128, None, 2]
    first, second = phases(
        first_phase_steps=90,
        second_phase_input_file="long",
        second_phase_max_seq_length=512,
        second_phase_max_predictions_per_seq=77,
        second_phase_train_batch_size=8,
        second_phase_gradient_accumulation_steps=4,
    )
    assert [*vars(first).values()] == [24, 90, "data", 128, None, 1]
    assert [*vars(second).values()] == [8, 100, "long", 512, 77, 4]
    _, second = phases(first_phase_steps=90, second_phase_max_seq_length=512)
    assert (second.input_file, second.train_batch_size) == ("data", 24)


def test_the_ramp_doubles_the_batch_in_equal_steps_of_the_first_phase():
    ramp = phases(
        gradient_accumulation_steps=6,
        batch_ramp_steps=32,
        first_phase_steps=40,
        second_phase_train_batch_size=12,
    )
    found = [
        (p.train_batch_size, p.gradient_accumulation_steps, p.num_train_steps)
        for p in ramp
    ]
    assert found == [(4, 1, 10), (8, 2, 21), (16, 4, 32), (24, 6, 40), (12, 6, 100)]


_SECOND = {"second_phase_train_batch_size": 8}
_PARTS = {"gradient_accumulation_steps": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (_SECOND, "A second phase needs --second_phase_ flags, .* that is 0, and has"),
        ({"first_phase_steps": 9}, "A second phase needs .* that is 9, and has to lie"),
        (
            {**_SECOND, "first_phase_steps": 100},
            "that is 100, .* --num_train_steps=100",
        ),
        ({**_SECOND, "first_phase_steps": 99}, None),
        ({**_SECOND, "first_phase_steps": 1}, None),
        ({"batch_ramp_steps": 9}, "above 1 .it is 1. and a phase that ends after it"),
        ({**_PARTS, "batch_ramp_steps": 100}, "=100 lets .* after it, not at step 100"),
        ({**_PARTS, "batch_ramp_steps": 99}, None),
    ],
)
def test_phases_that_contradict_each_other(changes, message):
    if message is None:
        assert [phase.num_train_steps for phase in phases(**changes)][1:] == [100]
        return
    with pytest.raises(UserError, match=message):
        phases(**changes)


def test_the_share_of_masked_tokens_lies_on_a_line():
    flags = DataFlags(input_file="data", num_train_steps=11, masked_lm_prob=0.4)
    assert (flags.most_masked, flags.masked_share(0)) == (0.4, None)
    falling = dataclasses.replace(flags, final_masked_lm_prob=0.1)
    assert falling.most_masked == 0.4
    found = [falling.masked_share(first)(n) for first, n in ((0, 0), (0, 10), (4, 1))]
    assert found == pytest.approx([0.4, 0.1, 0.25])
    single = dataclasses.replace(falling, num_train_steps=1)
    assert single.masked_share(0)(0) == 0.4
    assert DataFlags(input_file="data").most_masked is None


_LENGTHS = ("max_seq_length", "max_predictions_per_seq")


@pytest.fixture
def unsaid(settings):
    """Makes the settings of a run that is not told the lengths."""
    return lambda **changes: settings(**{**dict.fromkeys(_LENGTHS), **changes})


def lengths(settings, prefix=""):
    return tuple(getattr(settings, f"{prefix}{name}") for name in _LENGTHS)


def test_what_the_data_was_made_with_or_else_the_official_defaults(
    unsaid, dynamic, described, tokenizer, tmp_path
):
    assert lengths(unsaid()) == (16, 3)
    assert lengths(unsaid(max_seq_length=8)) == (8, 3)
    (tmp_path / "official.tfrecord").write_bytes(b"")
    assert lengths(unsaid(input_file=tmp_path / "official.tfrecord")) == (512, 20)
    # Dynamic data is predicted at its rate: 512 tokens at 15% are 77 predictions.
    told = {"max_seq_length": 512, "max_predictions_per_seq": 77}
    long = described(dynamic, "long", **told) / "train.tfrecord"
    assert lengths(unsaid(input_file=long)) == (512, 77)
    assert lengths(unsaid(input_file=long, masked_lm_prob=0.2)) == (512, 102)
    (stage,) = PretrainingData(unsaid(input_file=long), tokenizer).stages()
    assert next(iter(stage.dataset))["masked_lm_weights"].shape == (16, 77)


def test_each_phase_has_the_lengths_of_its_data(unsaid, short, material):
    two = {
        "input_file": short / "train.tfrecord",
        "second_phase_input_file": material / "data" / "train.tfrecord",
        "first_phase_steps": 1,
        "num_train_steps": 2,
    }
    assert [phase.lengths for phase in unsaid(**two).phases()] == [(8, 2), (16, 3)]
    given = unsaid(**two, second_phase_max_predictions_per_seq=4)
    assert lengths(given, "second_phase_") == (16, 4)
    same = unsaid(first_phase_steps=1, second_phase_train_batch_size=8)
    assert lengths(same, "second_phase_") == (None, None)
    assert [phase.max_seq_length for phase in same.phases()] == [16, 16]


def test_the_costs_of_each_phase_and_the_speed_of_the_devices(
    settings, short, material
):
    first, second = (f / "train.tfrecord" for f in (short, material / "data"))
    phase = {
        "input_file": second,
        "max_seq_length": 16,
        "max_predictions_per_seq": 3,
        "train_batch_size": 8,
        "gradient_accumulation_steps": 2,
    }
    flags = {"input_file": first, "max_seq_length": 8, "max_predictions_per_seq": 2}
    flags |= {f"second_phase_{name}": value for name, value in phase.items()}
    flags |= {"num_train_steps": 8, "first_phase_steps": 6, "peak_teraflops": 0.5}
    flags |= {"learning_rate": 0.16, "scale_learning_rate": True, "poly_power": 2.0}
    chosen = settings(**flags)
    *_, trainer = run._prepare(chosen)
    kind, config = KINDS[chosen.objective], trainer.model.config
    lines = plan.plan_lines(chosen, trainer, kind)
    costs = []
    for rows, shape in ((16, (8, 2)), (4, (16, 3))):
        flops = albert.training_flops(albert.forward_flops(config, *shape))
        memory = sum(albert.training_memory(config, rows, *shape).values())
        costs.append(
            f"{flops / 1e6:,.1f} MFLOP a token, about {memory / 2**30:,.2f} GiB"
        )
    assert [line.strip() for line in lines[1:8]] == [
        f"steps 0 to 6: {first}",
        "batches of 16 sequences of 8 tokens (2 predictions), 1 x 16 a replica",
        f"{costs[0]} a replica",
        f"steps 6 to 8: {second}",
        "batches of 8 sequences of 16 tokens (3 predictions), 2 x 4 a replica",
        f"{costs[1]} a replica",
        f"in all {6 * 16 * 8 + 2 * 8 * 16:,} tokens, padding included",
    ]
    assert lines[8:11] == [
        f"  {trainer.model.count_params():,} parameters in float32",
        "  learning rate 0.01 = 0.16 * sqrt(16 / 4096), polynomial, after 2 steps of "
        "warm-up",
        "  lamb:",
    ]
    assert trainer.options.peak_flops == 0.5e12
    found = trainer.options.flops_per_token(8)
    assert found == kind.training_flops(trainer.model, 8, 2)


def test_the_peak_of_all_devices(settings, monkeypatch):
    monkeypatch.setattr(run, "strategy_peak", lambda *_: 7.0)
    model = types.SimpleNamespace(compute_dtype="float32")
    devices = types.SimpleNamespace(num_replicas_in_sync=3)
    for flags, peak in (({}, 7.0), ({"peak_teraflops": 0.5}, 1.5e12)):
        assert run._speeds(settings(**flags), model, devices)["peak_flops"] == peak


@pytest.mark.parametrize(
    ("dtype", "units", "device", "use_xla", "beside", "expected"),
    [
        ("float32", ["amx"], "CPU", False, True, ""),
        ("float16", ["amx"], "CPU", False, True, ", computed in float16"),
        ("bfloat16", ["amx"], "CPU", True, True, ", computed in bfloat16"),
        ("bfloat16", [], "CPU", False, True, ", computed in bfloat16"),
        ("bfloat16", ["amx"], "GPU", False, True, ", computed in bfloat16"),
        ("bfloat16", ["amx"], "CPU", False, True, "XLA for activations and update"),
        ("bfloat16", ["amx", "x"], "CPU", False, False, "without XLA"),
    ],
)
def test_the_type_of_computation(
    dtype, units, device, use_xla, beside, expected, monkeypatch
):
    monkeypatch.setattr(plan, "bfloat16_units", lambda: units)
    make = types.SimpleNamespace
    trainer = make(
        model=make(compute_dtype=dtype),
        options=make(use_xla=use_xla, xla_beside_products=beside),
        strategy=make(extended=make(worker_devices=[f"/device:{device}:0"])),
    )
    if expected and not expected.startswith(","):
        by = f"by this processor's {', '.join(units)}"
        expected = f", computed in bfloat16 {by}, {expected}"
    assert plan._computed_in(trainer) == expected


def test_what_was_measured_is_added_up():
    trainer = types.SimpleNamespace(seconds_per_step=lambda stage, _: stage.batch_size)
    stages = [
        types.SimpleNamespace(batch_size=size, last_step=last)
        for size, last in ((30, 100), (60, 160))
    ]
    assert plan.measured_lines(trainer, stages)[1:] == [
        "  steps 0 to 100: 30 seconds a step, 1 sequences a second",
        "  steps 100 to 160: 60 seconds a step, 1 sequences a second",
        "  training takes 1.83 hours, evaluation and checkpoints apart",
    ]


@pytest.fixture
def planned(settings):
    """Makes the settings of a run whose number of steps its budget decides."""
    return lambda **changes: run.with_steps(settings(num_train_steps=None, **changes))


@pytest.fixture
def a_second_a_step(monkeypatch):
    """A machine on which each step takes a second, and all else no time."""
    calls = []

    def measured(trainer, stage, loops, steps=1):
        calls.append((loops, steps))
        return 1.0

    monkeypatch.setattr(Trainer, "seconds_per_step", measured)
    still = types.SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(plan, "time", still)
    return calls


@pytest.mark.slow
def test_steps_are_measured_until_the_first_checkpoint(
    planned, a_second_a_step, tmp_path, capsys
):
    """A run that did not begin may get another model or batch."""
    message = "6 steps of 1 seconds, and the warm-up has 6; give at least 0.117 min"
    with pytest.raises(UserError, match=message):
        planned(train_minutes=0.1, num_warmup_steps=6)
    a_second_a_step.clear()
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
    dry = {"dry_run": True, "output_dir": tmp_path / "dry"}
    assert run.pretrain(planned(train_minutes=0.1, **dry)) is None
    printed = capsys.readouterr().out
    assert "Plan: 6 steps on 1 replica(s) /job" in printed
    assert "seconds a step" in printed and "training takes" in printed
    assert not (tmp_path / "dry").exists()


def test_long_steps_are_measured_one_by_one():
    loops = mock.Mock(return_value=6.0)
    plan._measure(types.SimpleNamespace(seconds_per_step=loops), None)
    assert [call.args for call in loops.call_args_list] == [(None, 1), (None, 2, 1)]


def test_a_budget_holds_measuring_and_compiling(planned, a_second_a_step, monkeypatch):
    """A look at the clock takes 2 seconds: 6 for all, of which 1 more compiles.

    Training compiles that step once more.
    """
    clock = types.SimpleNamespace(monotonic=itertools.count(100, 2).__next__)
    monkeypatch.setattr(plan, "time", clock)
    assert planned(train_minutes=2.0).num_train_steps == 120 - 6 - 1
