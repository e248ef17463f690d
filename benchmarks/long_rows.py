"""Time and memory of a training step by the length of rows.

    python -m benchmarks.long_rows

Every step trains on as many tokens, in fewer rows if they are longer, so that a model
whose cost is linear in the length keeps the time and memory of its shortest rows. Of
two models, one has two local layers in three, the other none. The shape is
ALBERT-base's with blocks of today, or that of --albert_config_file. Each length runs in
a process of its own; they take turns.
"""

import contextlib
import dataclasses
import functools
import statistics
import sys

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.tokenization.parallel import available_cores
from benchmarks.measuring import figures
from benchmarks.measuring.shapes import modern
from benchmarks.measuring.shapes import without_dropout
from benchmarks.measuring.turns import Player
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import rounds_of

_PREDICTIONS = 8  # one token of so many is predicted
_GIGABYTE = 1000  # megabytes


@dataclasses.dataclass(frozen=True)
class Options:
    """The flags of `python -m benchmarks.long_rows`."""

    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name.", "albert/base_v2"
    )
    layers: int = option("Number of layers of the model.", 6, minimum=1)
    global_attention_every: str = option(
        "Models: one layer in so many is global, separated by commas.", "3,1"
    )
    window: int = option("Tokens of the window of local layers.", 128, minimum=1)
    lengths: str = option(
        "Numbers of tokens in a row, separated by commas.", "512,1024,2048,4096,8192"
    )
    tokens: int = option("Number of tokens in a step.", 8192, minimum=1)
    mixed_precision: str = option(
        "Type in which the layers compute.", "float32", ("float32", "bfloat16")
    )
    rounds: int = option("Number of timed steps of each length.", 3, minimum=1)
    figures_file: str | None = figures.file_option()


def measure(options):
    """Measures each model at all lengths, and prints the table."""
    config = AlbertConfig.from_json_file(options.albert_config_file)
    config = dataclasses.replace(
        modern(without_dropout(config)), num_hidden_layers=options.layers
    )
    lengths = [int(length) for length in options.lengths.split(",")]
    columns = ["a step of", *(f"{length} tokens, s" for length in lengths)]
    columns += [f"{length} tokens, GB" for length in lengths]
    rows = []
    for every in map(int, options.global_attention_every.split(",")):
        own, name = config, "all layers global"
        if every > 1:
            window = options.window
            own = dataclasses.replace(
                config, local_attention_window=window, global_attention_every=every
            )
            name = f"one layer in {every} global"
        rows.append([name, *_cells(options, own, lengths)])
    conditions = [
        f"{options.layers} layers of {config.hidden_size}",
        f"{options.tokens} tokens in a step",
        options.mixed_precision,
        f"medians of {options.rounds} steps; in brackets: times the shortest rows'",
    ]
    figures.report(options.figures_file, columns, rows, conditions)


def _cells(options, config, lengths):
    """Returns the cells of a model: seconds by length, and gigabytes by length."""
    with contextlib.ExitStack() as stack:
        players = {
            length: stack.enter_context(Player(_command(options, config, length)))
            for length in lengths
        }
        things = {length: player.turn for length, player in players.items()}
        seconds = rounds_of(things, options.rounds, warm_ups=1)
        memory = rounds_of(
            {n: functools.partial(p.turn, "memory") for n, p in players.items()}, 1
        )
    seconds = [statistics.median(found) for found in seconds.values()]
    gigabytes = [found[0] / _GIGABYTE for found in memory.values()]
    return [
        f"{value:.2f} ({value / values[0]:.2f})"
        for values in (seconds, gigabytes)
        for value in values
    ]


def _command(options, config, length):
    count = max(options.tokens // length, 1)
    config = dataclasses.replace(config, max_position_embeddings=length)
    setting = {
        "model": "albert",
        "config": config.to_dict(),
        "batch": {
            "batch_size": count,
            "tokens": length,
            "predictions": length // _PREDICTIONS,
            "vocab_size": config.vocab_size,
        },
        "threads": available_cores(),
        "steps": 1,
        "bfloat16": options.mixed_precision == "bfloat16",
    }
    return command_of(sys.executable, "albert_tf", setting)


if __name__ == "__main__":
    run(Options, measure)
