"""How fast a training step is on one GPU: our layers on JAX, and PyTorch's ALBERT.

  python -m benchmarks.gpu_step --jax_python=... --torch_python=...

Both options name interpreters: one of an environment with this package and JAX for
the card, one with torch and transformers. Both sides compute in bfloat16 with weights
in float32, without dropout, with AdamW and gradients clipped to a global norm of 1;
PyTorch with `sdpa` under `torch.compile`. They run one after the other, because JAX
takes the card's memory. The model FLOP utilisation counts the matrix products of
`albert_tf.describe`, for both sides: PyTorch's model computes logits at all
positions, which counts as work that nobody asked for.
"""

import dataclasses
import json
import statistics
import sys

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.costs.device_peaks import gpu_peak
from albert_tf.costs.flops import backward_flops
from albert_tf.costs.flops import forward_flops
from albert_tf.errors import UserError
from benchmarks.shapes import batch_shape
from benchmarks.shapes import without_dropout
from benchmarks.turns import Player

_WARM_UPS = 2


@dataclasses.dataclass(frozen=True)
class Options:
    runs: str = option(
        "Shapes to measure, separated by commas, each written as "
        "MODEL:TOKENSxBATCHxPREDICTIONS, where MODEL is a released size or a "
        "configuration file.",
        "base_v2:128x256x20,base_v2:512x32x77,xxlarge_v2:512x8x77",
    )
    jax_python: str = option("Python interpreter with keras and jax.", sys.executable)
    torch_python: str | None = option(
        "Python interpreter with torch and transformers; without one, only our side "
        "runs.",
        None,
    )
    rounds: int = option("Number of turns of each side.", 7, minimum=1)
    steps: int = option("Number of training steps in a turn.", 10, minimum=1)
    peak_tflops: float | None = option(
        "Peak speed of the device in bfloat16, in 1e12 operations per second; common "
        "cards need no number.",
        None,
    )


def benchmark(options):
    """Measures all runs; returns and prints what it found.

    Returns:
        For each run, a dict from the side to the median seconds of a step.
    """
    found = {}
    for run in options.runs.split(","):
        print(run)
        found[run] = _measure(options, *_parse(run))
    return found


def _parse(run):
    """The configuration and the arguments of `make_batch` of a run."""
    try:
        name, shape = run.rsplit(":", 1)
        batch = batch_shape(shape)
    except ValueError as error:
        raise UserError(
            f"--runs has {run!r}; write it as base_v2:512x32x77: the model, tokens, "
            "sequences and predictions a sequence."
        ) from error
    if name.endswith(".json"):
        config = AlbertConfig.from_json_file(name)
    else:
        config = AlbertConfig.released(name)
    return without_dropout(config), {**batch, "vocab_size": config.vocab_size}


def _measure(options, config, batch):
    setting = {"config": config.to_dict(), "batch": batch, "steps": options.steps}
    ours = {**setting, "dtype_policy": "mixed_bfloat16"}
    details, own = _seconds(options, options.jax_python, "albert_tf_jax", ours)
    print(f"  device: {details['device']}")
    peak = gpu_peak(details["device"], "bfloat16")
    if options.peak_tflops:
        peak = options.peak_tflops * 1e12
    print(f"  albert_tf ({details['versions']}): {_speed(own, config, batch, peak)}")
    found = {"albert_tf": own}
    if options.torch_python:
        device = "cpu" if details["platform"] == "cpu" else "cuda"
        theirs = {**setting, "device": device, "bfloat16": True, "compile": True}
        details, other = _seconds(options, options.torch_python, "hugging_face", theirs)
        print(f"  hugging_face ({details}): {_speed(other, config, batch, peak)}")
        print(f"  albert_tf is {other / own:.2f} times as fast")
        found["hugging_face"] = other
    return found


def _seconds(options, python, module, setting):
    """What a side tells about itself, and its median seconds a step."""
    command = [python, "-m", f"benchmarks.sides.{module}", json.dumps(setting)]
    with Player(command) as player:
        seconds = [player.turn() for _ in range(_WARM_UPS + options.rounds)]
    return player.details, statistics.median(seconds[_WARM_UPS:])


def _speed(seconds, config, batch, peak):
    tokens = batch["batch_size"] * batch["tokens"]
    forward = forward_flops(config, batch["tokens"], batch["predictions"])
    flops = tokens * (sum(forward.values()) + backward_flops(forward))
    rate = flops / seconds
    used = f"{rate / peak:.1%} of the peak" if peak else "the peak is not known"
    return (
        f"{1000 * seconds:.1f} ms a step, {tokens / seconds:,.0f} tokens/s, "
        f"{rate / 1e12:.3g} TFLOP/s ({used})"
    )


if __name__ == "__main__":
    command_line.run(Options, benchmark)
