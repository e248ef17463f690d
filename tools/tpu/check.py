"""Compiles a pretraining step for a TPU, on a machine that needs none.

  python -m tools.tpu.check --config=configs/pretraining/base.json \\
      --topology=v5e:2x2 --batch_size=16

--config takes a recipe of run_pretraining.py and reads the model, the lengths (of the
last phase), the optimizer, the precision and the execution from it; --remat is
--rematerialize. The step is the one that training runs: forward, backward, clipping and
update. The command prints whether the compiler of the TPU accepts it for one device of
the topology, the memory it takes there, its operations, and the time that compiling
takes here. docs/tpu.md says what this does not show. The command needs `pip install
'albert-tf[tpu_check]'`.
"""

import dataclasses
import re
import sys
import time

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.costs.flops import backward_flops
from albert_tf.costs.flops import forward_flops
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.errors import UserError
from albert_tf.optimizers import OPTIMIZERS
from tools.tpu.compiler import DEVICE_MEMORY
from tools.tpu.compiler import chip
from tools.tpu.compiler import compile_for_tpu
from tools.tpu.compiler import tpu_device
from tools.tpu.largest_batch import largest_batch
from tools.tpu.recipe import recipe_values

_MASKED_FRACTION = 0.15
_GIGABYTE = 1e9


@dataclasses.dataclass(frozen=True, kw_only=True)
class TpuCheckOptions(ExecutionFlags):
    """The flags of `python -m tools.tpu.check`."""

    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2."
    )
    topology: str = option(
        f"Chip and grid of the TPU; the chips are {', '.join(DEVICE_MEMORY)}.",
        "v5e:2x2",
    )
    batch_size: int = option(
        "Number of sequences that one device computes at once.", 16, minimum=1
    )
    max_seq_length: int = option("Length of a sequence, in tokens.", 512, minimum=1)
    max_predictions_per_seq: int | None = option(
        "Number of masked positions in a sequence; by default 15% of the length.",
        None,
        minimum=1,
    )
    mixed_precision: str = altered(
        ExecutionFlags,
        "mixed_precision",
        help="Type in which the layers compute; weights stay in float32.",
        choices=("float32", "bfloat16"),
    )
    optimizer: str = option(
        "Optimizer that updates the weights.", "lamb", tuple(sorted(OPTIMIZERS))
    )
    quick: bool = option(
        "Compile with the least effort: this takes a fifth of the time, and the "
        "memory differs.",
        False,
    )
    find_batch: bool = option(
        "Search for the largest batch that fits, starting with --batch_size; this "
        "takes several compilations.",
        False,
    )


def tpu_check(options):
    """Compiles the step and prints the compiler's report.

    Raises:
        UserError: a flag that does not fit, missing packages, or an operation that
            the compiler refuses.
    """
    compile_batch = step_compiler(options)
    started = time.monotonic()
    program = compile_batch(options.batch_size)
    _print_program(options, program, time.monotonic() - started)
    if options.find_batch:
        programs = {options.batch_size: program}

        def compile_once(size):
            if size not in programs:
                print(f"compiling for a batch of {size} ...", flush=True)
                programs[size] = compile_batch(size)
            return programs[size]

        fits, fails = largest_batch(compile_once, options.batch_size)
        print(f"{'largest batch that fits':32}{fits}; {fails} does not")


def step_compiler(options):
    """Returns a function from a batch size, and a topology, to the `TpuProgram`.

    The topology comes from the options where none is given.

    Raises:
        UserError: a flag that does not fit.
    """
    from tools.tpu.training_step import TrainingStep

    config = _config(options)
    tpu_device(options.topology)
    step = TrainingStep(config, options.optimizer, **options.execution)
    sizes = (options.max_seq_length, _predictions(options))

    def compile_batch(batch_size, topology=options.topology):
        hlo = step.lowered(batch_size, *sizes)
        return compile_for_tpu(hlo, topology, options.quick)

    return compile_batch


def step_flops(options):
    """Counts a step's floating-point operations by our own count, in every layer."""
    config = _config(options)
    forward = forward_flops(config, options.max_seq_length, _predictions(options))
    token = sum(forward.values()) + backward_flops(forward, options.rematerialize)
    return token * options.batch_size * options.max_seq_length


def _config(options):
    config = AlbertConfig.from_json_file(options.albert_config_file)
    if options.max_seq_length > config.max_position_embeddings:
        raise UserError(
            f"--max_seq_length={options.max_seq_length} exceeds "
            f"max_position_embeddings ({config.max_position_embeddings}) of "
            f"{options.albert_config_file}; shorten the sequences."
        )
    return config


def _predictions(options):
    if options.max_predictions_per_seq is None:
        return max(1, round(options.max_seq_length * _MASKED_FRACTION))
    return options.max_predictions_per_seq


def _print_program(options, program, seconds):
    name = chip(options.topology)
    rows = {f"HBM of a {name} device, GB": f"{DEVICE_MEMORY[name]}"}
    if program.fits:
        rows["compiles"] = "yes"
        rows["HBM in all, GB"] = _gigabytes(program.used_bytes)
        rows["  arguments, GB"] = _gigabytes(program.argument_bytes)
        rows["  temporaries, GB"] = _gigabytes(program.temporary_bytes)
        rows["TFLOP, by the compiler"] = f"{program.operations / 1e12:.3f}"
        if options.depth_loop:
            rows["TFLOP, by the compiler"] += " (the body of a loop counts once)"
    else:
        rows["compiles"] = "no: it does not fit"
        rows["HBM in all, GB"] = _gigabytes(program.used_bytes)
        rows["HBM that it may take, GB"] = _gigabytes(program.available_bytes)
    rows["TFLOP, matrix products"] = f"{step_flops(options) / 1e12:.3f}"
    rows["tracing and compiling, s"] = f"{seconds:.1f}"
    for title, value in rows.items():
        print(f"{title:32}{value}")


def _gigabytes(size):
    return f"{size / _GIGABYTE:.2f}"


def main(argv=None):
    """Runs the command."""
    argv = sys.argv if argv is None else argv
    argv = [re.sub(r"^(--?(?:no)?)remat(?==|$)", r"\1rematerialize", a) for a in argv]
    run(TpuCheckOptions, tpu_check, argv=argv, read_config=recipe_values)


if __name__ == "__main__":
    main()
