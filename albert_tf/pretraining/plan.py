"""Plans a run: reports its costs, and derives its steps from a time budget."""

import os
import time

from absl import logging

from albert_tf.costs.runs import BYTES
from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.checkpointing import checkpoints_in
from albert_tf.engine.compilation import bfloat16_units
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.strategies import is_cpu
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json
from albert_tf.optimizers import scaled_learning_rate

STORED = "train_minutes.json"
"""The file in the output directory that stores the number of steps."""

_GIBIBYTE = 2**30
_MEASURED_STEPS = 3
_LOOP_SECONDS = 5.0  # duration of the loops that measure the seconds per step
_LOOPS = 2


def plan_lines(options, trainer, kind):
    """Describes the plan: devices, phases, costs, learning rate, decayed weights.

    Args:
        options: the resolved `PretrainingOptions`.
        trainer, kind: the `Trainer`, and the value of `by_objective.KINDS`.
    """
    model, replicas = trainer.model, trainer.strategy.num_replicas_in_sync
    devices = ", ".join(trainer.strategy.extended.worker_devices)
    lines = [
        f"Plan: {options.num_train_steps:,} steps on {replicas} replica(s) {devices}"
    ]
    tokens, begin = 0, 0
    for phase in options.phases():
        lines.extend(_phase_lines(kind, model, phase, begin, replicas))
        steps, begin = phase.num_train_steps - begin, phase.num_train_steps
        tokens += steps * phase.train_batch_size * phase.max_seq_length
    rate, of_4096 = options.learning_rate, ""
    if options.scale_learning_rate:
        of_4096 = f" = {rate:g} * sqrt({options.train_batch_size} / 4096)"
        rate = scaled_learning_rate(rate, options.train_batch_size)
    return [
        *lines,
        f"  in all {tokens:,} tokens, padding included",
        f"  {model.count_params():,} parameters in float32{_computed_in(trainer)}",
        f"  learning rate {rate:.4g}{of_4096}, {options.lr_schedule}, after "
        f"{options.num_warmup_steps:,} steps of warm-up",
        f"  {options.optimizer}:",
        *trainer.optimizer.rules_table(model.trainable_variables),
    ]


def _computed_in(trainer):
    """Names the type of computation, unless float32, and the units of a CPU for it."""
    dtype, options = trainer.model.compute_dtype, trainer.options
    if dtype == "float32":
        return ""
    units = ", ".join(bfloat16_units())
    if (
        dtype != "bfloat16"
        or options.use_xla
        or not units
        or not is_cpu(trainer.strategy)
    ):
        return f", computed in {dtype}"
    xla = (
        "XLA for activations and update"
        if options.xla_beside_products
        else "without XLA"
    )
    return f", computed in {dtype} by this processor's {units}, {xla}"


def _phase_lines(kind, model, phase, begin, replicas):
    length, predictions = phase.max_seq_length, phase.max_predictions_per_seq
    parts = phase.gradient_accumulation_steps
    micro_batch = phase.train_batch_size // replicas // parts
    execution = model.execution["rematerialize"], BYTES[model.compute_dtype]
    memory = sum(
        sum(c.costs.training_memory(c, micro_batch, length, n, *execution).values())
        for c, n in kind.networks(model, predictions)
    )
    flops = kind.training_flops(model, length, predictions)
    return [
        f"  steps {begin:,} to {phase.num_train_steps:,}: {phase.input_file}",
        f"    batches of {phase.train_batch_size:,} sequences of {length} tokens "
        f"({predictions} predictions), {parts} x {micro_batch} a replica",
        f"    {flops / 1e6:,.1f} MFLOP a token, about {memory / _GIBIBYTE:,.2f} GiB a "
        "replica",
    ]


def measured_lines(trainer, stages):
    """Measures a few steps of each stage: seconds per step, and for the whole run."""
    lines, total, begin = [], 0.0, 0
    for stage in stages:
        seconds = trainer.seconds_per_step(stage, _MEASURED_STEPS)
        lines.append(
            f"  steps {begin:,} to {stage.last_step:,}: {seconds:.3g} seconds a step, "
            f"{stage.batch_size / seconds:,.4g} sequences a second"
        )
        total += seconds * (stage.last_step - begin)
        begin = stage.last_step
    return [
        f"Measured, the best of {_MEASURED_STEPS} steps after compiling:",
        *lines,
        f"  training takes {total / 3600:,.2f} hours, evaluation and checkpoints apart",
    ]


def steps_of_budget(options, make_trainer):
    """Returns the number of steps of a time budget, stored or newly measured.

    The number is fixed once measured: from its first checkpoint on, the run resumes
    exactly, on any machine. The budget includes measuring and compiling, but not
    evaluation and checkpoints.

    Args:
        options: `PretrainingOptions`.
        make_trainer: function without arguments that returns a `Trainer` and its only
            `Stage`; the weights that it trains are discarded.

    Raises:
        UserError: the budget ends before warm-up does, or a run with checkpoints has a
            different budget or lost its number of steps.
    """
    minutes, warmup = options.train_minutes, options.num_warmup_steps
    path = os.path.join(options.output_dir, STORED)
    # Until the first checkpoint, model and batch may change, and so may the step time.
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
    stored = read_json_object(path)
    asked = IdentityEntry("train_minutes", minutes, "--train_minutes")
    check_identity([asked], stored, os.path.dirname(path))
    return stored["num_train_steps"]


def _measure(trainer, stage):
    """Returns the seconds per step in long loops, and the seconds of compilation."""
    started = time.monotonic()
    seconds = trainer.seconds_per_step(stage, 1)
    compiling = max(0.0, time.monotonic() - started - seconds)
    loop = max(1, int(_LOOP_SECONDS / seconds))
    return trainer.seconds_per_step(stage, _LOOPS, loop), compiling
