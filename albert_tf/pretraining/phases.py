"""Phases of a pretraining run, and their steps: from flags or a budget of minutes."""

import dataclasses
import os
import time

from absl import logging

from albert_tf.engine.resumption import Fact
from albert_tf.engine.resumption import check_facts
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json

STORED = "train_minutes.json"
"""The file of an output directory that keeps the number of steps."""
_LOOP_SECONDS = 5.0
_LOOPS = 2


def plan_phases(first, second, first_phase_steps, batch_ramp_steps):
    """Plans the phases of a run, each a `PhaseFlags`, in order.

    There is one, and one more with `--first_phase_steps`. `--batch_ramp_steps` splits
    the beginning of the first: its batches have 1, 2, 4 … micro-batches of the size
    that `--train_batch_size` has in the end, each for an equal number of steps.

    Args:
        first: the `PhaseFlags` that the run is if it has no other.
        second: dict of the second phase's values that differ from the first.
        first_phase_steps: the step at which the second begins; 0: there is none.
        batch_ramp_steps: steps in which the batch grows; 0 for none.

    Raises:
        UserError: flags that do not fit each other.
    """
    if not first_phase_steps:
        if second:
            raise UserError(
                "The --second_phase_ flags need --first_phase_steps, the step at which "
                "the second phase begins."
            )
        return _ramp(first, batch_ramp_steps)
    if not second or first_phase_steps >= first.num_train_steps:
        raise UserError(
            f"--first_phase_steps={first_phase_steps} needs a second phase: "
            f"--num_train_steps above it (it is {first.num_train_steps}) and "
            "--second_phase_input_file or other --second_phase_ flags."
        )
    second = dataclasses.replace(first, **second)
    first = dataclasses.replace(first, num_train_steps=first_phase_steps)
    return [*_ramp(first, batch_ramp_steps), second]


def _ramp(phase, steps):
    """Returns the phase, after `steps` of smaller batches if there are any."""
    parts = phase.gradient_accumulation_steps
    if not steps:
        return [phase]
    counts = [2**i for i in range(parts.bit_length()) if 2**i < parts]
    if not counts or phase.train_batch_size % parts:
        raise UserError(
            "--batch_ramp_steps lets the number of micro-batches grow, so it needs "
            f"--gradient_accumulation_steps above 1 (it is {parts}) that divides "
            f"--train_batch_size={phase.train_batch_size}."
        )
    if not len(counts) <= steps < phase.num_train_steps:
        raise UserError(
            f"--batch_ramp_steps={steps} must be at least {len(counts)}, one for each "
            f"batch size, and below {phase.num_train_steps}, where the phase ends."
        )
    ramp = [
        dataclasses.replace(
            phase,
            train_batch_size=phase.train_batch_size // parts * count,
            gradient_accumulation_steps=count,
            num_train_steps=steps * i // len(counts),
        )
        for i, count in enumerate(counts, start=1)
    ]
    return [*ramp, phase]


def check_budget(options):
    """Refuses flags of `PretrainingOptions` that a budget cannot hold with.

    Raises:
        UserError: the number of steps is given, too, or the steps are of several kinds
            or measured by several processes.
    """
    if not options.train_minutes:
        return
    steps = type(options).num_train_steps
    others = {
        "num_train_steps": options.num_train_steps != steps,
        "first_phase_steps": options.first_phase_steps,
        "batch_ramp_steps": options.batch_ramp_steps,
    }
    for name in (name for name, is_given in others.items() if is_given):
        raise UserError(
            f"--train_minutes={options.train_minutes:g} fixes the number of steps of "
            f"one phase; leave --{name} out, or --train_minutes."
        )
    if options.distribution_strategy == "multi_worker":
        raise UserError(
            f"--train_minutes={options.train_minutes:g} is measured by one process; "
            "with --distribution_strategy=multi_worker give --num_train_steps, of "
            "which --dry_run measures a few."
        )


def steps_of_budget(minutes, warmup, output_dir, writes, make_trainer):
    """Returns the number of steps of a budget: the stored one, else a measured one.

    The run is then one of that many steps: it resumes exactly, on any machine.

    Args:
        minutes: of training, this measurement and compiling included; evaluation and
            checkpoints apart.
        warmup: steps in which the learning rate rises.
        output_dir: folder of the run.
        writes: whether to store the number there.
        make_trainer: called without arguments for a `Trainer` and its one `Stage`;
            the weights that it trains are thrown away.

    Raises:
        UserError: the budget ends before the warm-up does, or the stored number is of
            other minutes.
    """
    path = os.path.join(output_dir, STORED)
    if storage.exists(path):
        stored = read_json_object(path)
        asked = Fact("train_minutes", minutes, "--train_minutes")
        check_facts([asked], stored, output_dir)
        return stored["num_train_steps"]
    started = time.monotonic()
    seconds, compiling = _measure(*make_trainer())
    spent = time.monotonic() - started + compiling
    steps = int((60 * minutes - spent) / seconds)
    if steps <= warmup:
        needed = (spent + seconds * (warmup + 1)) / 60
        raise UserError(
            f"--train_minutes={minutes:g} leaves {max(steps, 0):,} steps of "
            f"{seconds:.3g} seconds, and the warm-up has {warmup:,}; give at least "
            f"{needed:.3g} minutes, or lower --num_warmup_steps."
        )
    logging.info(
        "--train_minutes=%g: %s steps of %.3g seconds", minutes, f"{steps:,}", seconds
    )
    if writes:
        storage.make_folder(output_dir)
        write_json(path, {"train_minutes": minutes, "num_train_steps": steps})
    return steps


def _measure(trainer, stage):
    """Returns seconds of a step in long loops, and of compiling the first."""
    started = time.monotonic()
    seconds = trainer.seconds_per_step(stage, 1)
    compiling = max(0.0, time.monotonic() - started - seconds)
    loop = max(1, int(_LOOP_SECONDS / seconds))
    return trainer.seconds_per_step(stage, _LOOPS, loop), compiling
