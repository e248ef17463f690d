"""Seconds until a held-out masked LM loss, here and in PyTorch, from one start.

  python -m benchmarks.same_curve.quality --output_dir=quality \\
      --input_file='demo_output/data/train*.tfrecord' \\
      --eval_file='demo_output/data/held_out/*.tfrecord' \\
      --spm_model_file=demo_output/vocab/docstrings.model

Both sides train the model and the schedule of pretraining/tiny on the same batches, one
side after the other. Only the steps are timed: reading, evaluating and, of the first
step, tracing and compiling do not count. --bfloat16 and --peer_bfloat16 give a side the
type that is faster for it on this processor.
"""

import dataclasses
import math
import pathlib
import sys

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from benchmarks.same_curve import material

_PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
_RECIPE = _PROJECT / "configs/pretraining/tiny.json"
_SCHEDULE = ("learning_rate", "num_train_steps", "num_warmup_steps")
_EVAL_BATCH_SIZE = 64


@dataclasses.dataclass(frozen=True)
class Options:
    input_file: str = option("TFRecords with sentence order, to train on.")
    eval_file: str = option("Held-out TFRecords, to evaluate on.")
    spm_model_file: str = option("SentencePiece model that the data was made with.")
    output_dir: str = option("Folder for the start and the batches.")
    peer_python: str = option(
        "Python interpreter that has torch and transformers.", sys.executable
    )
    losses: str = option("Masked LM losses to reach, separated by commas.", "5.0,4.6")
    max_steps: int | None = option(
        "Number of steps after which a side gives up; by default the recipe's.",
        None,
        minimum=2,
    )
    eval_steps: int = option("Number of steps between evaluations.", 100, minimum=1)
    eval_batches: int = option(
        "Number of batches of 64 held-out sequences.", 10, minimum=1
    )
    bfloat16: bool = option("Compute in bfloat16 on our side.", False)
    peer_bfloat16: bool = option("Compute in bfloat16 in PyTorch (autocast).", False)
    random_seed: int = option("Seed of weights, order and masks.", 12345, minimum=0)


def benchmark(options):
    """Trains both sides; prints when each reached each loss, and the ratio.

    Returns:
        `{loss: (seconds here, seconds in PyTorch)}`; infinite where it was not reached.

    Raises:
        UserError: losses that are no numbers, unreadable records, or no peer.
    """
    from benchmarks.measuring import turns

    try:
        targets = sorted(map(float, options.losses.split(",")), reverse=True)
    except ValueError as error:
        raise UserError(f"--losses={options.losses}: expected 5.0,4.6.") from error
    turns.check_peer(options.peer_python)
    setting = prepare(options, targets[-1])
    theirs = material.peer(
        options.peer_python, {**setting, "bfloat16": options.peer_bfloat16}
    )
    from benchmarks.same_curve import ours

    own = ours.train({**setting, "bfloat16": options.bfloat16})
    print("\n| held-out masked LM loss | here, s | PyTorch, s | times as soon |")
    print("|---" * 4 + "|")
    found = {}
    for target in targets:
        here, there = (
            seconds_until(target, side, options.eval_steps) for side in (own, theirs)
        )
        found[target] = here, there
        print(f"| {target:g} | {' | '.join(_cells(here, there))} |")
    return found


def _cells(here, there):
    reached = [math.isfinite(seconds) for seconds in (here, there)]
    shown = [
        f"{seconds:.1f}" if is_reached else "not reached"
        for seconds, is_reached in zip((here, there), reached, strict=True)
    ]
    return [*shown, f"{there / here:.2f}" if all(reached) else "—"]


def seconds_until(target, side, eval_steps):
    """Returns seconds of training until the first evaluation of at most `target`.

    Args:
        target: held-out loss.
        side: the result of a side's `train`. Its first step counts as long as its
            second, without tracing and compiling.
        eval_steps: steps between two evaluations.
    """
    seconds = [side["seconds"][1], *side["seconds"][1:]]
    for number, loss in enumerate(side["held_out"], start=1):
        if loss <= target:
            return float(np.sum(seconds[: number * eval_steps]))
    return float("inf")


def prepare(options, stop_at):
    """Writes the batches and the start; returns the setting of both sides' `train`.

    Args:
        options: `Options`.
        stop_at: the held-out loss at which a side may stop.

    Raises:
        UserError: steps that the recipe does not have, or unreadable records.
    """
    from albert_tf.tokenization import load_tokenizer

    recipe = read_json_object(_RECIPE)
    steps = options.max_steps or recipe["num_train_steps"]
    if not options.eval_steps <= steps <= recipe["num_train_steps"]:
        raise UserError(
            f"--max_steps={steps}: expected from --eval_steps={options.eval_steps} to "
            f"{recipe['num_train_steps']}, the steps of the recipe."
        )
    folder = pathlib.Path(options.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(options.spm_model_file)
    batch_size = recipe["train_batch_size"]
    paths = _write_batches(options, folder, tokenizer, batch_size, steps)
    config = AlbertConfig.from_json_file(_PROJECT / recipe["albert_config_file"])
    config = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)
    material.write_start(config, folder / "start", tokenizer, options.random_seed)
    return {
        **paths,
        **{name: recipe[name] for name in _SCHEDULE},
        "start": str(folder / "start"),
        "optimizer": recipe["optimizer"],
        "random_seed": options.random_seed,
        "eval_steps": options.eval_steps,
        "stop_at": stop_at,
    }


def _write_batches(options, folder, tokenizer, batch_size, steps):
    """Writes the batches of training and of evaluation; returns their paths."""
    sources = {
        "batches": (options.input_file, batch_size, steps, True),
        "eval_batches": (
            options.eval_file,
            _EVAL_BATCH_SIZE,
            options.eval_batches,
            False,
        ),
    }
    paths = {name: str(folder / f"{name}.npz") for name in sources}
    for name, (files, rows, count, training) in sources.items():
        material.write_batches(
            paths[name], files, tokenizer, rows, count, options.random_seed, training
        )
    return paths


if __name__ == "__main__":
    command_line.run(Options, benchmark)
