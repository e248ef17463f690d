"""The phases of a pretraining run, from its flags: each with its last step."""

import dataclasses

from albert_tf.errors import UserError


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
