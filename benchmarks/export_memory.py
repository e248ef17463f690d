"""Memory of an export, by stage.

  python -m benchmarks.export_memory --model_dir=out/model --compute_dtype=int8

exports the model in this process, and prints the largest resident memory of each stage
in MB, beside 3 times the weights in float32 and 1 GB, which no stage should exceed.
"""

import dataclasses
import functools
import math
import pathlib
import re
import tempfile

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.serving.export import TOKEN_FORMATS
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from benchmarks.measuring import figures

# Of `albert_tf.serving.writing`, in the order in which an export calls them.
_STAGES = (
    "build_module",
    "_answer",
    "check_token_file",
    "round_onnx",
    "build_module_of_file",
    "_write_description",
)


@dataclasses.dataclass(frozen=True)
class Options:
    model_dir: str = option("Model directory, or a Hugging Face one.")
    format: str = option("As for the export.", "onnx", TOKEN_FORMATS)
    compute_dtype: str = option("As for the export.", "float32", ("float32", "int8"))
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Prints the memory of each stage."""
    from albert_tf.serving import writing  # and TensorFlow

    rows, weights = [], []
    _end_stage("imports", rows)

    def measured(name, function):
        @functools.wraps(function)
        def call(*inputs, **named):
            _end_stage("(between)", rows)
            found = function(*inputs, **named)
            _end_stage(name, rows)
            if name == "build_module":
                weights.extend(math.prod(v.shape) for v in found[1].variables)
            return found

        return call

    for name in _STAGES:
        setattr(writing, name, measured(name, getattr(writing, name)))
    with tempfile.TemporaryDirectory() as folder:
        told = {"format": options.format, "compute_dtype": options.compute_dtype}
        export(ExportOptions(options.model_dir, f"{folder}/exported", **told))
    _end_stage("(between)", rows)
    rows.append(["largest", max(peak for _, peak in rows)])
    rows.append(["3 × weights + 1 GB", round(12 * sum(weights) / 1e6 + 1000)])
    figures.report(options.figures_file, ["stage", "MB"], rows, [*told.values()])


def _end_stage(name, rows):
    """Appends the largest memory since the last call, and forgets it."""
    status = pathlib.Path("/proc/self/status").read_text()
    kilobytes = int(re.search(r"VmHWM:\s*(\d+)", status)[1])
    rows.append([name, round(kilobytes * 1.024 / 1000)])
    pathlib.Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    command_line.run(Options, benchmark)
