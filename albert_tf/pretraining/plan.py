"""Plan of a run, reported before it begins: its costs, its steps by a budget."""

import os
import time

from absl import logging

from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.checkpointing import checkpoints_in
from albert_tf.engine.compilation import bfloat16_units
from albert_tf.engine.resumption import Fact
from albert_tf.engine.resumption import check_facts
from albert_tf.engine.strategies import is_cpu
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json

STORED = "train_minutes.json"
"""The file of an output directory that keeps the number of steps."""

_GIBIBYTE = 2**30
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MEASURED_STEPS = 3
_LOOP_SECONDS = 5.0  # of the loops that a budget measures
_LOOPS = 2


def plan_lines(optimizer, phases, trainer, kind):
    """Describes the plan: devices, phases, costs, learning rate, the decayed weights.

    Args:
        optimizer, phases: the `ScheduleFlags`, and the `PhaseFlags` of each phase.
        trainer, kind: the `Trainer`, and the value of `by_objective.KINDS`.
    """
    model, replicas = trainer.model, trainer.strategy.num_replicas_in_sync
    devices = ", ".join(trainer.strategy.extended.worker_devices)
    lines = [
        f"Plan: {optimizer.num_train_steps:,} steps on {replicas} replica(s) {devices}"
    ]
    tokens, begin = 0, 0
    for phase in phases:
        lines.extend(_phase_lines(kind, model, phase, begin, replicas))
        steps, begin = phase.num_train_steps - begin, phase.num_train_steps
        tokens += steps * phase.train_batch_size * phase.lengths[0]
    parameters = sum(kind.parameters(model).values())
    lines.append(f"  in all {tokens:,} tokens, padding included")
    lines.append(f"  {parameters:,} parameters in float32")
    if model.compute_dtype != "float32":
        lines[-1] += f", computed in {model.compute_dtype}"
        lines[-1] += _units(trainer)
    lines.append(
        f"  learning rate {optimizer.peak_learning_rate:.4g}{_origin(optimizer)}, "
        f"{optimizer.lr_schedule}, after {optimizer.num_warmup_steps:,} steps of "
        "warm-up"
    )
    lines.append(f"  {optimizer.optimizer}:")
    return lines + trainer.optimizer.rules_table(model.trainable_variables)


def _units(trainer):
    """Names the units that multiply bfloat16 on a CPU, if XLA does not; else ""."""
    dtype, units = trainer.model.compute_dtype, ", ".join(bfloat16_units())
    step = trainer.options.step
    if dtype != "bfloat16" or step.use_xla or not units or not is_cpu(trainer.strategy):
        return ""
    xla = (
        "XLA for activations and update" if step.xla_beside_products else "without XLA"
    )
    return f" by this processor's {units}, {xla}"


def _origin(optimizer):
    """Describes how the rate was computed from the flags."""
    if not optimizer.scale_learning_rate:
        return ""
    return f" = {optimizer.learning_rate:g} * sqrt({optimizer.train_batch_size} / 4096)"


def _phase_lines(kind, model, phase, begin, replicas):
    length, predictions = phase.lengths
    micro_batch = (
        phase.train_batch_size // replicas // phase.gradient_accumulation_steps
    )
    rematerialize = model.execution["rematerialize"]
    memory = kind.training_memory(
        model,
        micro_batch,
        length,
        predictions,
        rematerialize,
        _BYTES[model.compute_dtype],
    )
    flops = kind.training_flops(model, length, predictions, rematerialize)
    return [
        f"  steps {begin:,} to {phase.num_train_steps:,}: {phase.input_file}",
        f"    batches of {phase.train_batch_size:,} sequences of {length} tokens "
        f"({predictions} predictions), {phase.gradient_accumulation_steps} x "
        f"{micro_batch} a replica",
        f"    {flops / 1e6:,.1f} MFLOP a token, about "
        f"{sum(memory.values()) / _GIBIBYTE:,.2f} GiB a replica",
    ]


def measured_lines(trainer, stages):
    """Measures some steps of each stage: seconds a step, and of the whole run."""
    lines, total, begin = [], 0.0, 0
    for stage in stages:
        seconds = trainer.seconds_per_step(stage, _MEASURED_STEPS)
        lines.append(
            f"  steps {begin:,} to {stage.last_step:,}: {seconds:.3g} seconds a step, "
            f"{stage.batch_size / seconds:,.4g} sequences a second"
        )
        total += seconds * (stage.last_step - begin)
        begin = stage.last_step
    hours = total / 3600
    return [
        f"Measured, the best of {_MEASURED_STEPS} steps after compiling:",
        *lines,
        f"  training takes {hours:,.2f} hours, evaluation and checkpoints apart",
    ]


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


def steps_of_budget(options, make_trainer):
    """Returns the number of steps of a budget: the stored one, else a measured one.

    The run is then one of that many steps: from its first checkpoint on, it resumes
    exactly, on any machine. The budget holds the measurement and compiling, but not
    evaluation and checkpoints.

    Args:
        options: `PretrainingOptions`.
        make_trainer: called without arguments for a `Trainer` and its one `Stage`;
            the weights that it trains are thrown away.

    Raises:
        UserError: the budget ends before the warm-up does, or a run with checkpoints
            has other minutes or has lost its number.
    """
    minutes, warmup = options.train_minutes, options.num_warmup_steps
    path = os.path.join(options.output_dir, STORED)
    # Before the first checkpoint, model and batch may still change, and so may a step.
    if checkpoints_in(os.path.join(options.output_dir, CHECKPOINTS)):
        return _stored_steps(path, minutes)
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
    if not options.dry_run:
        storage.make_folder(options.output_dir)
        write_json(path, {"train_minutes": minutes, "num_train_steps": steps})
    return steps


def _stored_steps(path, minutes):
    """Reads the number of steps of a run that has checkpoints."""
    stored = read_json_object(path) if storage.exists(path) else {}
    steps = stored.get("num_train_steps")
    if not isinstance(steps, int):
        raise UserError(
            f"{path} does not tell how many steps --train_minutes={minutes:g} gave the "
            "run whose checkpoints lie beside it; copy the file back, go on with "
            "--num_train_steps if the run began with that, or train into another "
            "--output_dir."
        )
    asked = Fact("train_minutes", minutes, "--train_minutes")
    check_facts([asked], stored, os.path.dirname(path))
    return steps


def _measure(trainer, stage):
    """Returns seconds of a step in long loops, and of compiling the first."""
    started = time.monotonic()
    seconds = trainer.seconds_per_step(stage, 1)
    compiling = max(0.0, time.monotonic() - started - seconds)
    loop = max(1, int(_LOOP_SECONDS / seconds))
    return trainer.seconds_per_step(stage, _LOOPS, loop), compiling
