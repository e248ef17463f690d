"""Prints the costs of a configuration: parameters, FLOPs and memory.

    albert-tf describe --albert_config_file=configs/albert/base_v2.json \\
        --batch_size=8 --max_seq_length=512

Memory is an estimate for pretraining in float32 with LAMB or AdamW.
docs/pretraining.md says more.
"""

import dataclasses

import albert_tf
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import read_config
from albert_tf.costs.albert import backward_flops
from albert_tf.errors import UserError

_MASKED_FRACTION = 0.15
_MEBIBYTE = 2**20


@dataclasses.dataclass(frozen=True)
class DescribeOptions:
    """The flags of `albert-tf describe`."""

    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2 or "
        "xlnet/base."
    )
    batch_size: int = option(
        "Number of sequences that one device computes at once.", 8, minimum=1
    )
    max_seq_length: int = option("Length of a sequence, in tokens.", 512, minimum=1)
    max_predictions_per_seq: int | None = option(
        "Number of masked positions in a sequence; by default 15% of the length.",
        None,
        minimum=0,
    )


def describe(options):
    """Prints the tables.

    Raises:
        UserError: there is no such config, or the length exceeds its positions.
    """
    classes = [getattr(albert_tf, name) for name in albert_tf.CONFIGS]
    config = read_config(options.albert_config_file, classes)
    length = options.max_seq_length
    if config.longest_row(length) < length:
        raise UserError(
            f"--max_seq_length={length} exceeds max_position_embeddings "
            f"({config.max_position_embeddings}) of {options.albert_config_file}; "
            "shorten the sequences."
        )
    predictions = options.max_predictions_per_seq
    if predictions is None:
        predictions = round(length * _MASKED_FRACTION)
    costs = config.costs
    _print_parameters(costs.pretraining_parameters(config))
    _print_flops(costs.forward_flops(config, length, predictions))
    sizes = options.batch_size, length, predictions
    plain, saving = (costs.training_memory(config, *sizes, s) for s in (False, True))
    _print_memory(plain, saving)


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


def _print_memory(plain, saving):
    rows = [(part, plain[part], saving[part]) for part in plain]
    rows.append(("total", sum(plain.values()), sum(saving.values())))
    _print_table(
        ("MiB, estimated", "plain", "rematerialised"),
        [
            (part, f"{a / _MEBIBYTE:,.1f}", f"{b / _MEBIBYTE:,.1f}")
            for part, a, b in rows
        ],
    )


def _print_table(header, rows):
    for title, *values in [header, *rows]:
        print(f"{title:32}" + "".join(f"{value:>16}" for value in values))
    print()


def main(argv=None):
    """Runs the command."""
    run(DescribeOptions, describe, argv=argv)
