"""Rate of a training step, against other ALBERTs on the same cores.

  python -m benchmarks.train_step --torch_python=... --keras_hub_python=...
  python -m benchmarks.train_step --model=xlnet --shapes=128x8x21 --torch_python=...

The two options name interpreters of environments with torch and transformers, and
with keras-hub and TensorFlow (extra `bench`, if one environment is to have all);
a side whose interpreter lacks its packages is left out.

All sides train on one random batch of full rows, without dropout, with AdamW and
gradients clipped to a global norm of 1, in float32 or, with --mixed_precision=bfloat16,
each in its own mixed precision with float32 weights. Each is a process of its own that
sleeps while another is timed, and they take turns in every round. A ratio compares the
median times of a step; the lowest and highest ratio within a round stand behind it, and
for ALBERTs the share of a step's time that our model's products alone take in
TensorFlow (oneDNN), in the type of --mixed_precision.
Different by nature: Hugging Face's ALBERT computes logits at all positions, keras-hub's
has no sentence-order loss. The side albert_tf_modern has blocks of today (norm before,
rotary, GeGLU of two thirds of the width), of as many operations, as has
hugging_face_modernbert, which shares no layers. XLNets train without memory.
"""

import contextlib
import dataclasses
import functools
import statistics
import subprocess
import sys
import tempfile

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.tokenization.parallel import available_cores
from albert_tf.xlnet.config import XLNetConfig
from benchmarks.measuring import figures
from benchmarks.measuring.records import make_records
from benchmarks.measuring.shapes import batch_shape
from benchmarks.measuring.shapes import without_dropout
from benchmarks.measuring.turns import Player
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import rounds_of

_WARM_UPS = 2
_OWN = "albert_tf"
_PRODUCTS = "products_alone"
# By module: the flag of its interpreter, and the packages that this needs.
_PEERS = {
    "albert_tf": (None, "albert_tf"),
    "training_products": (None, "albert_tf"),
    "hugging_face": ("torch_python", "torch, transformers"),
    "keras_hub": ("keras_hub_python", "keras_hub"),
}
# By side: its module and its settings.
_SIDES = {
    _OWN: ("albert_tf", {}),
    _PRODUCTS: ("training_products", {}),
    "albert_tf_float32": ("albert_tf", {"bfloat16": False}),
    "albert_tf_modern": ("albert_tf", {"modern": True}),
    "hugging_face": ("hugging_face", {}),
    "hugging_face_fast_gelu": ("hugging_face", {"activation": "gelu_pytorch_tanh"}),
    "hugging_face_modernbert": ("hugging_face", {"model": "modernbert"}),
    "keras_hub": ("keras_hub", {}),
    "keras_hub_xla": ("keras_hub", {"compile": True}),
}

# Of each model: the sides beside ours, the class of its configuration and its name, and
# its changes beside dropout.
_MODELS = {
    "albert": (
        ("hugging_face", "hugging_face_fast_gelu", "keras_hub", "keras_hub_xla"),
        AlbertConfig,
        "albert/base_v2",
        {},
    ),
    "xlnet": (("hugging_face",), XLNetConfig, "xlnet/base", {"mem_len": 0}),
}


@dataclasses.dataclass(frozen=True)
class Options:
    model: str = option("Model to train.", "albert", tuple(_MODELS))
    albert_config_file: str | None = option(
        "Configuration of the model, a JSON file or a name; by default albert/base_v2 "
        "or xlnet/base.",
        None,
    )
    shapes: str = option(
        "Shapes to measure, separated by commas, each written as "
        "TOKENSxBATCHxPREDICTIONS.",
        "128x8x20,512x2x77",
    )
    sides: str | None = option(
        f"Sides to measure beside ours, separated by commas, of {', '.join(_SIDES)}; "
        "by default the model's.",
        None,
    )
    mixed_precision: str = option(
        "Type in which all sides compute.", "float32", ("float32", "bfloat16")
    )
    torch_python: str = option(
        "Python interpreter for the hugging_face sides.", sys.executable
    )
    keras_hub_python: str = option(
        "Python interpreter for the keras_hub sides.", sys.executable
    )
    rounds: int = option("Number of turns of each side.", 5, minimum=1)
    steps: int = option("Number of training steps in a turn.", 1, minimum=1)
    threads: int = option("Number of threads of each side.", available_cores())
    measure_records: bool = option(
        "Also train an ALBERT from records that the benchmark makes.", True
    )
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Measures all shapes; returns and prints the figures."""
    _, config_class, name, changes = _MODELS[options.model]
    config = config_class.from_json_file(options.albert_config_file or name)
    config = dataclasses.replace(without_dropout(config), **changes)
    sides = _MODELS[options.model][0]
    if options.sides is not None:
        sides = filter(None, options.sides.split(","))
    limit = [_PRODUCTS] if options.model == "albert" else []
    sides = [_OWN, *sides, *limit]
    found, columns, cells, versions = {}, ["a step of"], {}, []
    for shape in options.shapes.split(","):
        batch = {**batch_shape(shape), "vocab_size": config.vocab_size}
        print(
            f"S = {batch['tokens']}, batch {batch['batch_size']}, "
            f"{batch['predictions']} predictions"
        )
        times, details = _measure(options, sides, config, batch)
        found[shape] = {name: statistics.median(t) for name, t in times.items()}
        tokens = batch["tokens"] * batch["batch_size"]
        columns.append(f"S = {batch['tokens']}, tokens/s")
        for name, seconds in times.items():
            limit = None if name == _PRODUCTS else times.get(_PRODUCTS)
            cell = figures.compared(seconds, times[_OWN], tokens, limit)
            cells.setdefault(name, []).append(cell)
        versions += details
    rows = [[f"`{name}`", *found_cells] for name, found_cells in cells.items()]
    conditions = [*figures.packages(versions), f"medians of {options.rounds} rounds"]
    figures.report(options.figures_file, columns, rows, conditions)
    return found


def _measure(options, sides, config, batch):
    with tempfile.TemporaryDirectory() as folder:
        setting = {
            "model": options.model,
            "config": config.to_dict(),
            "batch": batch,
            "threads": options.threads,
            "steps": options.steps,
            "bfloat16": options.mixed_precision == "bfloat16",
        }
        reads_records = options.measure_records and options.model == "albert"
        if reads_records:
            setting["records"] = make_records(
                folder, batch["tokens"], batch["predictions"], config.vocab_size
            )
        with contextlib.ExitStack() as stack:
            players = _start(options, sides, setting, stack)
            things = {name: player.turn for name, player in players.items()}
            if reads_records:
                things["records"] = functools.partial(players[_OWN].turn, "records")
            times = rounds_of(things, options.rounds, _WARM_UPS)
            return times, [player.details for player in players.values()]


def _start(options, sides, setting, stack):
    """Starts the sides that can be started; returns their `Player`s by name."""
    players = {}
    for name in sides:
        module, more = _SIDES[name]
        python, packages = _PEERS[module]
        python = getattr(options, python) if python else sys.executable
        missing = subprocess.run(
            [python, "-c", f"import {packages}"], capture_output=True, check=False
        ).returncode
        if missing:
            print(f"  {name} is left out: {python} cannot import {packages}")
            continue
        command = command_of(python, module, {**setting, **more})
        players[name] = stack.enter_context(Player(command))
        print(f"  {name}: {players[name].details}", flush=True)
    return players


if __name__ == "__main__":
    command_line.run(Options, benchmark)
