"""Prints what a configuration costs: parameters, FLOPs and memory.

    python -m albert_tf.describe --albert_config_file=configs/albert/base_v2.json \\
        --batch_size=8 --max_seq_length=512

Memory is an estimate for pretraining in float32 with LAMB or AdamW;
`benchmarks/describe_memory.py` compares it with a measured peak.
docs/pretraining.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.costs.flops import backward_flops
from albert_tf.costs.flops import forward_flops
from albert_tf.costs.memory import training_memory
from albert_tf.costs.parameters import pretraining_parameters
from albert_tf.errors import UserError

_MASKED_FRACTION = 0.15
_MEBIBYTE = 2**20


@dataclasses.dataclass(frozen=True)
class DescribeOptions:
    """The flags of `python -m albert_tf.describe`."""

    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2."
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
        UserError: the length exceeds the positions of the configuration.
    """
    config = AlbertConfig.from_json_file(options.albert_config_file)
    length = options.max_seq_length
    if length > config.max_position_embeddings:
        raise UserError(
            f"--max_seq_length={length} exceeds max_position_embeddings "
            f"({config.max_position_embeddings}) of {options.albert_config_file}; "
            "shorten the sequences."
        )
    predictions = options.max_predictions_per_seq
    if predictions is None:
        predictions = round(length * _MASKED_FRACTION)
    _print_parameters(config)
    _print_flops(config, length, predictions)
    _print_memory(config, options.batch_size, length, predictions)


def _print_parameters(config):
    parameters = pretraining_parameters(config)
    heads = parameters["masked LM head"] + parameters["sentence order head"]
    total = sum(parameters.values())
    _print_table(
        ("parameters", ""),
        [
            *((part, f"{count:,}") for part, count in parameters.items()),
            ("encoder", f"{total - heads:,}"),
            ("with the pretraining heads", f"{total:,}"),
        ],
    )


def _print_flops(config, length, predictions):
    forward = forward_flops(config, length, predictions)
    rows = [(part, count, 2 * count) for part, count in forward.items()]
    rows.append(("total", sum(forward.values()), backward_flops(forward)))
    rows.append(("total, rematerialised", rows[-1][1], backward_flops(forward, True)))
    _print_table(
        ("MFLOP a token", "forward", "backward"),
        [(part, f"{f / 1e6:,.2f}", f"{b / 1e6:,.2f}") for part, f, b in rows],
    )


def _print_memory(config, batch_size, length, predictions):
    plain, saving = (
        training_memory(config, batch_size, length, predictions, rematerialize)
        for rematerialize in (False, True)
    )
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
        print(f"{title:28}" + "".join(f"{value:>16}" for value in values))
    print()


def main(argv=None):
    """The command line."""
    run(DescribeOptions, describe, argv=argv)


if __name__ == "__main__":
    main()
