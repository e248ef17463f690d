"""Prints the costs of pretraining: parameters, operations, memory and hours.

    albert-tf describe --config=pretraining/base --device=8xH100 \\
        --mixed_precision=bfloat16
    albert-tf describe --albert_config_file=albert/base_v2 --batch_size=8 \\
        --max_seq_length=512

--config takes a recipe of pretraining. Parameters and operations are counted. Memory,
that of LAMB or AdamW, is an estimate, and so are speed and hours: the share of a
device's peak that a step reaches is an assumption, --utilization.
docs/scaling.md says more.
"""

import dataclasses

import albert_tf
from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import config_file_values
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import read_config
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.device_peaks import devices_named
from albert_tf.costs.runs import BYTES
from albert_tf.costs.runs import fitting_parts
from albert_tf.costs.runs import step_memory
from albert_tf.costs.runs import tokens_per_second
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.errors import UserError
from albert_tf.pretraining.flags import PhaseFlags
from albert_tf.pretraining.flags import PhasesFlags
from albert_tf.pretraining.flags import PretrainingOptions

_MASKED_FRACTION = 0.15
_MEBIBYTE, _GIGA, _HOUR = 2**20, 1e9, 3600
_LENGTH, _ROWS = 512, 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class DescribeOptions(PhasesFlags):
    """The flags of `albert-tf describe`."""

    most_masked = None  # The data's own share of tokens counts.

    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2 or "
        "xlnet/base."
    )
    device: str | None = option(
        "Devices to train on: a GPU such as H100 or 8xH100, a TPU slice such as v5e-8, "
        "or cpu, this machine's, whose speed the command measures.",
        None,
    )
    mixed_precision: str = altered(
        ExecutionFlags,
        "mixed_precision",
        help="Type in which the layers compute; weights, losses and the optimizer stay "
        "in float32.",
        choices=tuple(BYTES),
        aliases=("compute_dtype",),
    )
    utilization: float = option(
        "Share of the devices' peak that a step is assumed to reach.",
        0.4,
        minimum=0.01,
        maximum=1,
    )
    batch_size: int | None = option(
        "Number of sequences that one device computes at once; by default what "
        "--train_batch_size, the devices and --gradient_accumulation_steps make, or 8 "
        "without --train_batch_size.",
        None,
        minimum=1,
    )
    train_batch_size: int | None = altered(
        PhaseFlags,
        "train_batch_size",
        default=None,
        help="Number of sequences in a step, over all devices; by default 4096.",
    )
    input_file: str = altered(
        PhaseFlags,
        "input_file",
        default="",
        help="TFRecord files, whose lengths count where no flag gives them.",
    )
    max_seq_length: int | None = altered(
        PhaseFlags,
        "max_seq_length",
        help="Length of a sequence in tokens; by default the data's length, or 512.",
    )
    max_predictions_per_seq: int | None = altered(
        PhaseFlags,
        "max_predictions_per_seq",
        help="Number of predictions in a sequence; by default the data's number, or "
        "15% of the length.",
        minimum=0,
    )


def describe(options):
    """Prints the tables.

    Raises:
        UserError: there is no such config or device, the length exceeds the positions
            of the config, or the batch does not divide by the devices.
    """
    classes = [getattr(albert_tf, name) for name in albert_tf.CONFIGS]
    config = read_config(options.albert_config_file, classes)
    if options.input_file:
        from albert_tf.pretraining.settings import with_lengths

        options = with_lengths(options)
    phases = _phases(options)
    # Its steps take the most memory.
    phase = max(phases, key=lambda p: (p.max_seq_length, p.train_batch_size))
    _check_length(config, phase.max_seq_length, options.albert_config_file)
    devices = None
    if options.device is not None:
        devices = devices_named(options.device, options.mixed_precision)
    _print_parameters(config.costs.pretraining_parameters(config))
    _print_flops(config.costs.forward_flops(config, *phase.lengths))
    _print_memory(options, config, phase, devices.count if devices else 1)
    if devices is not None:
        _print_run(options, config, phases, phase, devices)


def _phases(options):
    """Returns the `PhaseFlags` of the run, whose lengths and batches are known."""
    batch_size = options.train_batch_size or PhaseFlags.train_batch_size
    phases = dataclasses.replace(options, train_batch_size=batch_size).phases()
    complete = []
    for phase in phases:
        length, predictions = phase.lengths
        length = length or _LENGTH
        if predictions is None:
            predictions = round(length * _MASKED_FRACTION)
        changes = {"max_seq_length": length, "max_predictions_per_seq": predictions}
        complete.append(dataclasses.replace(phase, **changes))
    return complete


def _check_length(config, length, path):
    if config.longest_row(length) < length:
        raise UserError(
            f"--max_seq_length={length} exceeds max_position_embeddings "
            f"({config.max_position_embeddings}) of {path}; shorten the sequences."
        )


def _print_parameters(counts):
    total = sum(counts.values())
    counts = dict(counts)
    heads = sum(count for part, count in counts.items() if part.endswith("head"))
    counts.setdefault("encoder", total - heads)
    counts["with the pretraining heads"] = total
    _print_table(
        ("parameters", ""), [(part, f"{count:,}") for part, count in counts.items()]
    )


def _print_flops(forward):
    rows = [(part, count, 2 * count) for part, count in forward.items()]
    rows.append(("total", sum(forward.values()), backward_flops(forward)))
    rows.append(("total, rematerialised", rows[-1][1], backward_flops(forward, True)))
    _print_table(
        ("MFLOP a token", "forward", "backward"),
        [(part, f"{f / 1e6:,.2f}", f"{b / 1e6:,.2f}") for part, f, b in rows],
    )


def _print_memory(options, config, phase, count):
    """Prints the memory of a step with and without rematerialisation."""
    parts = phase.gradient_accumulation_steps
    rows = options.batch_size
    if rows is None:
        known = options.train_batch_size is not None
        rows = -(-phase.train_batch_size // (count * parts)) if known else _ROWS
    plain, saving = (
        step_memory(
            config,
            rows,
            phase.lengths,
            rematerialize,
            BYTES[options.mixed_precision],
            parts > 1,
        )
        for rematerialize in (False, True)
    )
    table = [(part, plain[part], saving[part]) for part in plain]
    table.append(("total", sum(plain.values()), sum(saving.values())))
    print(f"A device computes {rows:,} x {phase.max_seq_length} tokens at once:")
    _print_table(
        ("MiB, estimated", "plain", "rematerialised"),
        [
            (part, f"{a / _MEBIBYTE:,.1f}", f"{b / _MEBIBYTE:,.1f}")
            for part, a, b in table
        ],
    )


def _print_run(options, config, phases, phase, devices):
    """Prints how the run fits the devices, and its hours.

    Args:
        options: the `DescribeOptions`.
        config: the model's configuration.
        phases: the `PhaseFlags` of the run.
        phase: the one whose steps take the most memory.
        devices: the `Devices`.
    """
    if phase.train_batch_size % devices.count:
        raise UserError(
            f"--train_batch_size={phase.train_batch_size} does not divide by the "
            f"{devices.count} devices of --device={options.device}; choose a multiple."
        )
    columns = [
        _run_column(options, config, phases, phase, devices, rematerialize)
        for rematerialize in (False, True)
    ]
    steps = phases[-1].num_train_steps
    print(
        f"{devices.name}, {devices.peak / 1e12:,.4g} TFLOP/s and "
        f"{devices.gigabytes:,.4g} GB each; {steps:,} steps of "
        f"{phase.train_batch_size:,} sequences"
    )
    _print_table(
        ("estimated", "plain", "rematerialised"),
        [(title, *(column[title] for column in columns)) for title in columns[0]],
    )


def _run_column(options, config, phases, phase, devices, rematerialize):
    """Returns the rows of `_print_run` with or without rematerialisation, by title."""
    parts, used = fitting_parts(
        config,
        devices,
        phase.train_batch_size,
        phase.lengths,
        rematerialize,
        BYTES[options.mixed_precision],
    )
    rows = phase.train_batch_size // devices.count
    seconds, tokens, begin = 0.0, 0, 0
    for each in phases:
        rate = tokens_per_second(
            config, devices, each.lengths, options.utilization, rematerialize
        )
        steps, begin = each.num_train_steps - begin, each.num_train_steps
        count = steps * each.train_batch_size * each.max_seq_length
        seconds, tokens = seconds + count / rate, tokens + count
    speed = f"tokens/s at {options.utilization:.0%} of the peak"
    return {
        "accumulation steps that fit": f"{parts:,}" if parts else "none",
        "sequences of a device at once": f"{rows // parts:,}" if parts else "not one",
        "GB of its memory": f"{used / _GIGA:,.1f}",
        speed: f"{tokens / seconds:,.0f}",
        "hours": f"{seconds / _HOUR:,.1f}",
    }


def _print_table(header, rows):
    for title, *values in [header, *rows]:
        print(f"{title:32}" + "".join(f"{value:>16}" for value in values))
    print()


def _recipe_values(path, options_class):
    """Reads a recipe of pretraining: the values of the flags that this command has."""
    values = config_file_values(path, PretrainingOptions, options_class)
    if values.get("objective") == "replaced_tokens":
        raise UserError(
            f"{path} trains a generator beside the model, which describe does not "
            "count; albert-tf pretrain --dry_run does."
        )
    own = {field.name for field in dataclasses.fields(options_class)}
    return {name: value for name, value in values.items() if name in own}


def main(argv=None):
    """Runs the command."""
    run(DescribeOptions, describe, argv=argv, read_config=_recipe_values)
