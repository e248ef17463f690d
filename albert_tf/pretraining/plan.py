"""Plan and costs of a pretraining run, reported before it begins."""

from albert_tf.engine.compilation import bfloat16_units
from albert_tf.engine.strategies import is_cpu

_GIBIBYTE = 2**30
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MEASURED_STEPS = 3


def plan_lines(optimizer, phases, trainer, kind):
    """Describes the plan: devices, phases, costs, learning rate, the decayed weights.

    Args:
        optimizer: the `ScheduleFlags`.
        phases: the `PhaseFlags` of each phase.
        trainer: the `Trainer` of the run.
        kind: of `by_objective.KINDS`.
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
        tokens += steps * phase.train_batch_size * phase.max_seq_length
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
    length, predictions = phase.max_seq_length, phase.max_predictions_per_seq
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
