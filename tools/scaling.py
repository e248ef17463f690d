"""Computes docs/scaling.md: the costs of pretraining on 16 GB and on 160 GB of text.

  python -m tools.scaling

Nothing is run: FLOPs and memory are those of `albert-tf describe`, memory on TPUs from
tools/tpu/table.json, the rates of data creation from docs/data.md, and the sizes of
records were measured on 3 MB of Wikipedia. --utilization is an assumption.
"""

import dataclasses
import os

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.costs.device_peaks import devices_named
from albert_tf.costs.runs import BYTES
from albert_tf.costs.runs import fitting_parts
from albert_tf.costs.runs import tokens_per_second
from albert_tf.io.files import read_json_object
from tools.figures import write_part
from tools.tpu.table import SIZES
from tools.tpu.table import batch_of
from tools.tpu.table import cell_name

_GIGA, _HOUR = 1e9, 3600
# Paper, section 4.1; the sizes without dropout.
_BATCH, _STEPS, _TOKENS, _PREDICTIONS = 4096, 125_000, 512, 77
_SIZES, _TYPE = (_TOKENS, _PREDICTIONS), "bfloat16"
_CORPORA = {"Wikipedia + Books, 16 GB": 16e9, "160 GB, as RoBERTa's": 160e9}
# 3,000,000 bytes of English Wikipedia, 30,000 pieces: 1776 sequences of 512 tokens.
_BYTES_OF_TEXT_PER_SEQUENCE, _BYTES_PER_TOKEN = 3e6 / 1776, 3e6 / 615_497
# Bytes of a record, tokens a second of a worker (docs/data.md), usual --dupe_factor.
_KINDS = {"static": (2986, 1.35e6, 10), "dynamic": (704, 1.96e6, 1)}
# A step compiled with --quick may take more in the end: docs/tpu.md.
_QUICK_AT_WORST = 1 / 0.75
_FLOAT = 4  # bytes
_COPIES = 3  # in a checkpoint: weights and two moments


# Devices, and their chip in tools/tpu/table.json. The compiler no longer knows v3,
# whose cores have as much memory as v4's.
_MACHINES = (("v3-8", "v4"), ("v5e-64", "v5e"), ("8xH100", None))


@dataclasses.dataclass(frozen=True)
class ScalingOptions:
    """The flags of `python -m tools.scaling`."""

    utilization: float = option(
        "Share of the peak FLOPs that a step is assumed to reach.",
        0.4,
        minimum=0.01,
        maximum=1,
    )
    document: str = option(
        "Markdown file that holds the tables, between two comments.",
        os.path.join("docs", "scaling.md"),
    )


def write_page(options):
    """Writes the tables into the page."""
    write_part(options.document, "\n".join(tables(options.utilization)))


def tables(utilization):
    """Yields the lines of both tables."""
    header = (
        "corpus",
        "tokens of the text",
        "masks",
        "records",
        "GB",
        "worker-hours",
        "passes",
    )
    yield from _table(header, _data_rows())
    yield ""
    yield f"Hours and rates at {utilization:.0%} of the peak:"
    yield ""
    header = (
        "size",
        "devices",
        "sequences of a device",
        "GB of its memory",
        "--gradient_accumulation_steps",
        "hours",
        "M tokens/s to read",
        "checkpoint, GB",
    )
    yield from _table(header, _training_rows(utilization))


def _table(header, rows):
    yield f"| {' | '.join(header)} |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _data_rows():
    for corpus, size in _CORPORA.items():
        sequences = size / _BYTES_OF_TEXT_PER_SEQUENCE
        tokens = size / _BYTES_PER_TOKEN
        for kind, (record, rate, dupe_factor) in _KINDS.items():
            copies = dupe_factor * sequences
            yield (
                corpus,
                f"{tokens / _GIGA:.1f} G",
                f"{kind}, `--dupe_factor={dupe_factor}`",
                f"{copies / 1e6:,.0f} M",
                f"{copies * record / _GIGA:,.0f}",
                f"{dupe_factor * tokens / rate / _HOUR:,.1f}",
                f"{_BATCH * _STEPS / copies:,.1f}",
            )


def _training_rows(utilization):
    compiled = read_json_object(os.path.join("tools", "tpu", "table.json"))
    for size in SIZES:
        config = AlbertConfig.from_json_file(f"albert/{size}_v2")
        parameters = sum(pretraining_parameters(config).values())
        for name, chip in _MACHINES:
            machine = devices_named(name, _TYPE)
            sums = _FLOAT * parameters
            step = _fitting(config, size, machine, chip, compiled, sums)
            rate = tokens_per_second(
                config, machine, _SIZES, utilization, step.rematerialize
            )
            remark = ", `--rematerialize`" if step.rematerialize else ""
            yield (
                size,
                machine.name,
                f"{step.rows}",
                f"{step.shown} of {machine.gigabytes}{remark}",
                f"{-(-_BATCH // (step.rows * machine.count))}",
                f"{_BATCH * _STEPS * _TOKENS / rate / _HOUR:,.0f}",
                f"{rate / 1e6:,.2f}",
                f"{_FLOAT * _COPIES * parameters / _GIGA:.1f}",
            )


@dataclasses.dataclass(frozen=True)
class _Step:
    """Sequences of a device, how they are computed, and GB of its memory."""

    rows: int
    rematerialize: bool
    shown: str


def _fitting(config, size, machine, chip, compiled, sums):
    """Returns the `_Step` that fits a device.

    On a TPU, the compiled one; on a GPU, the largest part of a batch by the estimate.

    Args:
        config: the `AlbertConfig`.
        size: its name.
        machine: the `Devices`.
        chip: the device's name in tools/tpu/table.json; None for a GPU.
        compiled: cells of tools/tpu/table.json by name.
        sums: bytes of the gradients that accumulation keeps.
    """
    if chip is None:
        parts, used = fitting_parts(
            config, machine, _BATCH, _SIZES, False, BYTES[_TYPE]
        )
        rows = _BATCH // machine.count // parts
        return _Step(rows, False, f"≈ {used / _GIGA:.1f}")
    plain, rematerialized = (
        _compiled_step(size, chip, compiled, sums, rematerialize)
        for rematerialize in (False, True)
    )
    step, most = plain
    return step if most <= machine.gigabytes * _GIGA else rematerialized[0]


def _compiled_step(size, chip, compiled, sums, rematerialize):
    """Returns a `_Step`, and the bytes that it takes at worst."""
    form = "unrolled, rematerialised" if rematerialize else "unrolled"
    cell = (size, _TOKENS, chip, _TYPE, form)
    is_exact = cell_name(*cell) in compiled
    used = compiled[cell_name(*cell, quick=not is_exact)]["used_bytes"]
    shown = f"{'' if is_exact else '≈ '}{(used + sums) / _GIGA:.1f}"
    most = used * (1 if is_exact else _QUICK_AT_WORST) + sums
    return _Step(batch_of(size, _TOKENS), rematerialize, shown), most


if __name__ == "__main__":
    run(ScalingOptions, write_page)
