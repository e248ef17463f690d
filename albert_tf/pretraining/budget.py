"""The steps of a budget of minutes: measured on the machine, stored, and kept."""

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
