"""Rate of a training step on one GPU: our layers on JAX, and PyTorch's ALBERT.

  python -m benchmarks.gpu_step --jax_python=... --torch_python=...

Two options name interpreters: one of an environment with Keras and JAX for the card,
one with torch and transformers. TensorFlow is not needed. Both sides compute in
bfloat16 with weights in float32, without dropout, with AdamW and gradients clipped to a
global norm of 1; PyTorch with `sdpa` under `torch.compile`. They run one after the
other, because JAX takes the card's memory. The model FLOP utilisation counts the matrix
products of `albert-tf describe`,
for both sides: PyTorch's model computes logits at all positions, which is needless work
and is not counted.

Before, a small model in float32 takes the same steps on the card and on the CPU, and
the losses are compared.
"""

import dataclasses
import statistics
import sys

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.device_peaks import gpu_peak
from benchmarks.measuring import figures
from benchmarks.measuring.shapes import batch_shape
from benchmarks.measuring.shapes import without_dropout
from benchmarks.measuring.turns import Player
from benchmarks.measuring.turns import command_of

_WARM_UPS = 2
_RELEASED_RUNS = (
    "base_v2:128x256x20,base_v2:512x32x77,xxlarge_v2:128x32x20,xxlarge_v2:512x8x77"
)
# The model that learns on card and CPU, in products that do not shorten float32.
_SMALL = {"hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512}
_SMALL_BATCH = {"tokens": 64, "batch_size": 32, "predictions": 10, "vocab_size": 30000}
_EXACT = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}


@dataclasses.dataclass(frozen=True)
class Options:
    runs: str = option(
        "Shapes to measure, separated by commas, each written as "
        "MODEL:TOKENSxBATCHxPREDICTIONS, where MODEL is a released size or a "
        "configuration file.",
        _RELEASED_RUNS,
    )
    jax_python: str = option("Python interpreter with keras and jax.", sys.executable)
    torch_python: str | None = figures.peer_option()
    loss_steps: int = option(
        "Number of steps whose losses on the card and on the CPU are compared; 0 to "
        "leave it out.",
        200,
        minimum=0,
    )
    rounds: int = option("Number of turns of each side.", 7, minimum=1)
    steps: int = option("Number of training steps in a turn.", 10, minimum=1)
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Measures all runs; returns and prints the figures.

    Returns:
        For each run, a dict from the side to the median seconds of a step; for
        "losses", the largest difference between the card's and the CPU's.
    """
    runs = {run: _parse(run) for run in options.runs.split(",")}
    found, rows = {}, []
    if options.loss_steps:
        found["losses"] = _compare_losses(options)
    for run, (config, batch) in runs.items():
        print(run, flush=True)
        speeds, conditions = _measure(options, config, batch)
        found[run] = {side: speed[0] for side, speed in speeds.items()}
        for side, (seconds, tokens, rate, share) in speeds.items():
            percent = share and 100 * share
            rows.append([f"`{run}`", side, 1000 * seconds, tokens, rate, percent])
    columns = ["step", "side", "ms", "tokens/s", "TFLOP/s", "% of the peak"]
    figures.report(options.figures_file, columns, rows, conditions)
    return found


def _compare_losses(options):
    """Returns the largest difference between losses on the card and on the CPU."""
    config = AlbertConfig.released("base_v2", num_hidden_layers=2, **_SMALL)
    setting = {
        "config": without_dropout(config).to_dict(),
        "batch": _SMALL_BATCH,
        "steps": options.loss_steps,
        "dtype_policy": "float32",
        "learning_rate": 1e-4,
    }
    command = command_of(options.jax_python, "albert_tf_jax", setting)
    losses = []
    for place in ({}, {"JAX_PLATFORMS": "cpu"}):
        with Player(command, {**_EXACT, **place}) as player:
            losses.append(player.turn("losses"))
    difference = max(abs(a - b) for a, b in zip(*losses, strict=True))
    print(
        f"{options.loss_steps} steps in float32, loss {losses[0][0]:.4f} to "
        f"{losses[0][-1]:.4f}: at most {difference:.1e} from the CPU's",
        flush=True,
    )
    return difference


def _parse(run):
    """Returns the configuration and the arguments of `make_batch` of a run."""
    name, shape = run.rsplit(":", 1)
    is_file = name.endswith(".json")
    config = (AlbertConfig.from_json_file if is_file else AlbertConfig.released)(name)
    batch = {**batch_shape(shape), "vocab_size": config.vocab_size}
    return without_dropout(config), batch


def _measure(options, config, batch):
    """Returns the `_speed` of each side, and the devices."""
    setting = {"config": config.to_dict(), "batch": batch, "steps": options.steps}
    ours = {**setting, "dtype_policy": "mixed_bfloat16", "learning_rate": 1e-5}
    command = command_of(options.jax_python, "albert_tf_jax", ours)
    details, own = _seconds(options, command)
    peak = gpu_peak(details["device"], "bfloat16")
    speeds = {"albert_tf": _speed(own, config, batch, peak)}
    conditions = [details["device"], details["versions"]]
    if options.torch_python:
        device = "cpu" if details["platform"] == "cpu" else "cuda"
        theirs = {**setting, "device": device, "bfloat16": True, "compile": True}
        command = command_of(options.torch_python, "hugging_face", theirs)
        details, other = _seconds(options, command)
        speeds["hugging_face"] = _speed(other, config, batch, peak)
        conditions.append(details)
    return speeds, conditions


def _seconds(options, command):
    """Returns a side's details of itself, and its median seconds a step."""
    with Player(command) as player:
        seconds = [player.turn() for _ in range(_WARM_UPS + options.rounds)]
    return player.details, statistics.median(seconds[_WARM_UPS:])


def _speed(seconds, config, batch, peak):
    """Computes seconds a step, tokens and TFLOPs a second, and share of the peak."""
    tokens = batch["batch_size"] * batch["tokens"]
    forward = forward_flops(config, batch["tokens"], batch["predictions"])
    flops = tokens * (sum(forward.values()) + backward_flops(forward))
    rate = flops / seconds
    return seconds, tokens / seconds, rate / 1e12, rate / peak if peak else None


if __name__ == "__main__":
    command_line.run(Options, benchmark)
