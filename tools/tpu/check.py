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
from albert_tf.cli.command_line import config_file_values
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.albert import forward_flops
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.errors import UserError
from albert_tf.optimizers import OPTIMIZERS
from albert_tf.pretraining.flags import SECOND
from albert_tf.pretraining.flags import PretrainingOptions
from tools.tpu.compiler import DEVICE_MEMORY
from tools.tpu.compiler import chip
from tools.tpu.compiler import compile_for_tpu
from tools.tpu.compiler import tpu_device

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


def recipe_values(path, options_class):
    """Returns the values of a recipe of run_pretraining.py for another command.

    The lengths are the last phase's, which are the longest; values without a flag of
    the command are left out.

    Args:
        path: JSON file of flags of pretraining or of the command.
        options_class: the dataclass of the command's flags.

    Returns:
        A dict of values by the names of their flags.

    Raises:
        UserError: as `config_file_values`, or a recipe of XLNet, which the command
            does not compile.
    """
    values = config_file_values(path, PretrainingOptions, options_class)
    if values.get("objective", "masked_lm") != "masked_lm":
        raise UserError(
            f"{path} trains XLNet (--objective={values['objective']}), but tpu_check "
            "compiles the training step of ALBERT only; name a recipe of ALBERT."
        )
    for name in [name for name in values if name.startswith(SECOND)]:
        values[name.removeprefix(SECOND)] = values[name]
    own = {field.name for field in dataclasses.fields(options_class)}
    return {name: value for name, value in values.items() if name in own}


def largest_batch(compile_batch, start):
    """Searches by compiling: doubles or halves, then goes half-way three times.

    The memory of two batches does not tell where to look: near its limit the compiler
    saves values that it did not have to save before.

    Args:
        compile_batch: from a batch size to its `TpuProgram`.
        start: the batch size to begin with.

    Returns:
        `(fits, fails)`: a batch that fits, 0 if not even one row does, and a larger
        one that does not, at most an eighth apart.
    """
    fits, fails = 0, None
    size = start
    while fails is None or fails - fits > max(1, fits // 8):
        if compile_batch(size).fits:
            fits = size
        else:
            fails = size
        size = 2 * fits if fails is None else (fits + fails) // 2
    return fits, fails


if __name__ == "__main__":
    main()
