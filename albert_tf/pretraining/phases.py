"""The phases of a pretraining run, from its flags: what is read, for how long."""

import dataclasses

from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Phase:
    """Steps with one data set, one length of sequences and one batch size."""

    input_file: str
    max_seq_length: int
    max_predictions_per_seq: int
    batch_size: int  # sequences a step, over all devices
    gradient_accumulation_steps: int
    last_step: int  # counted from the start of the run


def plan_phases(options):
    """The `Phase`s of `PretrainingOptions`, in order.

    There is one, and one more with `--first_phase_steps`. `--batch_ramp_steps` splits
    the beginning of the first: its batches have 1, 2, 4 … micro-batches of the size
    that `--train_batch_size` has in the end, each for an equal number of steps.

    Raises:
        UserError: flags that do not fit each other.
    """
    first = Phase(
        options.input_file,
        options.max_seq_length,
        options.max_predictions_per_seq,
        options.train_batch_size,
        options.gradient_accumulation_steps,
        options.num_train_steps,
    )
    second = _second_phase(options, first)
    if second is None:
        return _ramp(options, first)
    first = dataclasses.replace(first, last_step=options.first_phase_steps)
    return [*_ramp(options, first), second]


def _second_phase(options, first):
    given = {
        "input_file": options.second_phase_input_file,
        "max_seq_length": options.second_phase_max_seq_length,
        "max_predictions_per_seq": options.second_phase_max_predictions_per_seq,
        "batch_size": options.second_phase_train_batch_size,
        "gradient_accumulation_steps": (
            options.second_phase_gradient_accumulation_steps
        ),
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not options.first_phase_steps:
        if given:
            raise UserError(
                "The --second_phase_ flags need --first_phase_steps, the step at which "
                "the second phase begins."
            )
        return None
    if not given or options.first_phase_steps >= options.num_train_steps:
        raise UserError(
            f"--first_phase_steps={options.first_phase_steps} needs a second phase: "
            f"--num_train_steps above it (it is {options.num_train_steps}) and "
            "--second_phase_input_file or other --second_phase_ flags."
        )
    return dataclasses.replace(first, **given)


def _ramp(options, phase):
    """The phase, after smaller batches if they are asked for."""
    steps, parts = options.batch_ramp_steps, phase.gradient_accumulation_steps
    if not steps:
        return [phase]
    counts = [2**i for i in range(parts.bit_length()) if 2**i < parts]
    if not counts or phase.batch_size % parts:
        raise UserError(
            "--batch_ramp_steps lets the number of micro-batches grow, so it needs "
            f"--gradient_accumulation_steps above 1 (it is {parts}) that divides "
            f"--train_batch_size={phase.batch_size}."
        )
    if not len(counts) <= steps < phase.last_step:
        raise UserError(
            f"--batch_ramp_steps={steps} must be at least {len(counts)}, one for each "
            f"batch size, and below {phase.last_step}, where the phase ends."
        )
    ramp = [
        dataclasses.replace(
            phase,
            batch_size=phase.batch_size // parts * count,
            gradient_accumulation_steps=count,
            last_step=steps * i // len(counts),
        )
        for i, count in enumerate(counts, start=1)
    ]
    return [*ramp, phase]
