"""Costs and savings of the depth loop and rematerialisation on this machine.

    python -m benchmarks.depth

Compares four forms of a training step (forward, backward, clipping, LAMB) of the same
deep model, compiled by XLA for the CPU, dropout as configured:

* first step: tracing, compiling and running it once; * step: the median of some steps,
the forms taking turns; * temporaries: the memory that XLA allots beside weights and
inputs, read from the buffer assignment that it writes down. This is the memory of the
program itself; the peak of the process would also count the memory of the compiler and
in the allocator's reserve.

Takes about five minutes on two idle cores.
"""

import dataclasses
import os
import pathlib
import re
import statistics
import tempfile

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.engine.flags import ExecutionFlags
from benchmarks.measuring import figures
from benchmarks.measuring.turns import seconds_per_step
from tools.tpu.table import FORMS

_PREDICTIONS = 20
# Sequences in the program whose memory is read, if more than --batch_size.
_MEMORY_BATCH_SIZE = 4
_MEBIBYTE = 2**20


@dataclasses.dataclass(frozen=True)
class DepthOptions:
    """The flags of `python -m benchmarks.depth`."""

    layers: int = option("Number of layers of the model.", 24, minimum=2)
    hidden_size: int = option("Width of the model, a multiple of 64.", 768, minimum=64)
    max_seq_length: int = option(
        "Length of a sequence, in tokens.", 512, minimum=_PREDICTIONS
    )
    batch_size: int = option("Number of sequences in a timed step.", 1, minimum=1)
    steps: int = option("Number of timed steps of each form.", 5, minimum=1)
    mixed_precision: str = option(
        "Type in which the layers compute. Pretraining on a CPU runs bfloat16 without "
        "XLA, which is faster there.",
        "float32",
        ("float32", "bfloat16"),
    )
    figures_file: str | None = figures.file_option()


def measure(options):
    """Measures all forms and prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        # Before TensorFlow is imported: XLA reads it once.
        flags = os.environ.get("XLA_FLAGS", "")
        flags += f" --xla_dump_to={folder} --xla_dump_hlo_as_text"
        os.environ["XLA_FLAGS"] = flags
        results = _measure_forms(options, pathlib.Path(folder))
    columns = ["form", "first step, s", "step, s", "temporaries, MiB"]
    rows = [
        [form, first, step, memory / _MEBIBYTE]
        for form, (first, step, memory) in results.items()
    ]
    conditions = [
        f"{options.layers} layers",
        f"S = {options.max_seq_length}",
        options.mixed_precision,
        f"medians of {options.steps} steps",
    ]
    figures.report(options.figures_file, columns, rows, conditions)


def _measure_forms(options, folder):
    """Returns {form: (first step, step, temporaries)} in seconds and bytes."""
    import tensorflow as tf

    from tools.tpu.training_step import sample_batch

    # The first compilation of a process sets the compiler up.
    tf.function(lambda x: x + 1, jit_compile=True)(tf.zeros(()))
    config = AlbertConfig.released(
        "base_v2",
        num_hidden_layers=options.layers,
        hidden_size=options.hidden_size,
        intermediate_size=4 * options.hidden_size,
        num_attention_heads=options.hidden_size // 64,
    )
    lengths = (options.max_seq_length, _PREDICTIONS)
    batch = sample_batch(options.batch_size, *lengths)
    memory_batch = sample_batch(_MEMORY_BATCH_SIZE, *lengths)
    steps = {
        form: _step(config, options.mixed_precision, **FORMS[form]) for form in FORMS
    }
    temporaries, first, times = {}, {}, {form: [] for form in FORMS}
    for form, step in steps.items():
        first[form] = _seconds(step.function, batch)
        if options.batch_size < _MEMORY_BATCH_SIZE:
            lower = step.function.experimental_get_compiler_ir(memory_batch)
            lower(stage="optimized_hlo")
        temporaries[form] = _largest_temporaries(folder)
    for _ in range(options.steps):
        for form, step in steps.items():
            times[form].append(_seconds(step.function, batch))
    return {
        form: (first[form], statistics.median(times[form]), temporaries[form])
        for form in FORMS
    }


def _step(config, mixed_precision, **flags):
    from tools.tpu.training_step import TrainingStep

    flags = ExecutionFlags(mixed_precision=mixed_precision, **flags)
    return TrainingStep(config, **flags.execution)


def _seconds(function, batch):
    return seconds_per_step(lambda: function(batch).numpy(), 1)


def _largest_temporaries(folder):
    """Returns the temporaries' bytes of the largest program since the last call."""
    sizes = [0]
    for report in folder.glob("*buffer-assignment.txt"):
        found = re.findall(
            r"^allocation \d+: size (\d+),.*preallocated-temp", report.read_text(), re.M
        )
        sizes.append(sum(map(int, found)))
    for path in folder.iterdir():
        path.unlink()
    return max(sizes)


if __name__ == "__main__":
    run(DepthOptions, measure)
