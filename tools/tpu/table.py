"""The table of docs/tpu.md: the training step compiled for several TPUs.

    python -m tools.tpu.table

A process of its own compiles a program for all chips; each of these cells takes one
minute to several, with --quick some ten seconds. tools/tpu/table.json keeps the cells,
so you can stop the command at any time; re-running resumes it. At the end the command
writes the table of the cells of 512 tokens in bfloat16 on a v5e into the document;
`--compile=false` does only that.
"""

import dataclasses
import itertools
import os
import subprocess
import sys

from absl import logging

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json
from tools.figures import write_part
from tools.tpu.check import TpuCheckOptions
from tools.tpu.check import step_compiler

TOPOLOGIES = {"v5e": "v5e:2x2", "v6e": "v6e:2x2", "v4": "v4:2x2x1"}
SIZES = ("base", "large", "xlarge", "xxlarge")
# Tokens in a sequence, and sequences of a device for the two smaller sizes.
BATCHES = {512: 16, 128: 64}
PRECISIONS = ("bfloat16", "float32")
FORMS = {
    "unrolled": {},
    "loop": {"depth_loop": True},
    "unrolled, rematerialised": {"rematerialize": True},
    "loop, rematerialised": {"depth_loop": True, "rematerialize": True},
}
_SHOWN = ("512", "v5e", "bfloat16")  # tokens, chip and precision in the document
_QUICK = ", quick"  # In the names of the cells that were compiled with --quick.
_CONFIGS = os.path.join("configs", "albert")


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """The flags of `python -m tools.tpu.table`."""

    cache: str = option(
        "JSON file that keeps the compiled cells.",
        os.path.join("tools", "tpu", "table.json"),
    )
    program: str | None = option(
        "Name of the program to compile, without the chip; by default all that are "
        "missing.",
        None,
    )
    quick: bool = option(
        "Compile with the least effort; the table marks such cells with ≈.", False
    )
    compile: bool = option("Compile the cells that are missing.", True)
    document: str = option(
        "Markdown file that holds the table, between two comments.",
        os.path.join("docs", "tpu.md"),
    )
    timeout: int = option(
        "Number of seconds that a program may take to compile.", 3600, minimum=1
    )


def batch_of(size, length):
    """Returns the sequences of a device for which a size is compiled."""
    return BATCHES[length] // (1 if size in ("base", "large") else 2)


def cell_name(size, length, chip, precision, form, quick=False):
    """Returns the name of a cell in `--cache`."""
    row = (size, str(length), str(batch_of(size, length)), chip, precision)
    return "/".join((*row, f"{form}{_QUICK}" if quick else form))


def cells(quick=False):
    """Yields the options of each cell by its name, the most telling ones first."""
    for precision, form, length, size, chip in itertools.product(
        PRECISIONS, reversed(FORMS), BATCHES, reversed(SIZES), TOPOLOGIES
    ):
        yield (
            cell_name(size, length, chip, precision, form, quick),
            TpuCheckOptions(
                albert_config_file=os.path.join(_CONFIGS, f"{size}_v2.json"),
                topology=TOPOLOGIES[chip],
                batch_size=batch_of(size, length),
                max_seq_length=length,
                mixed_precision=precision,
                quick=quick,
                **FORMS[form],
            ),
        )


def make_table(options):
    """Compiles the cells that are missing, and writes the table."""
    if options.program:
        _compile_program(options)
        return
    if options.compile:
        missing = (_program(name) for name in _missing(options))
        for program in dict.fromkeys(missing):
            logging.info("compiling %s", program)
            _compile_in_process(program, options)
    write_part(options.document, "\n".join(_table(_read(options.cache))))


def _program(name):
    """Returns the name of a cell without its chip, common to all chips."""
    size, length, batch_size, _, precision, form = name.split("/")
    return "/".join((size, length, batch_size, precision, form))


def _missing(options):
    """Lists the options of the cells that are not in the cache, by their names."""
    done = _read(options.cache)
    return {name: check for name, check in cells(options.quick) if name not in done}


def _read(cache):
    return read_json_object(cache) if os.path.exists(cache) else {}


def _compile_in_process(program, options):
    command = [sys.executable, "-m", "tools.tpu.table"]
    command += [f"--program={program}", f"--cache={options.cache}"]
    command += ["--quick"] if options.quick else []
    try:
        subprocess.run(
            command, check=True, timeout=options.timeout, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        logging.warning("%s took more than %d s", program, options.timeout)
    except subprocess.CalledProcessError as error:
        last_line = error.stderr.strip().rpartition("\n")[2]
        logging.warning("%s failed: %s", program, last_line or error)


def _compile_program(options):
    missing = _missing(options).items()
    missing = {n: check for n, check in missing if _program(n) == options.program}
    if not missing:
        raise UserError(f"--program={options.program}: no cell of it is missing.")
    # Traced once for all chips.
    compile_batch = step_compiler(next(iter(missing.values())))
    for name, check in missing.items():
        result = compile_batch(check.batch_size, check.topology)
        done = _read(options.cache)
        write_json(options.cache, {**done, name: dataclasses.asdict(result)})


def _table(done):
    """Yields a line for each size with a form of `_SHOWN` that is compiled."""
    header = ("size", "batch", *FORMS)
    yield "| " + " | ".join(header) + " |"
    yield "|---" * len(header) + "|"
    rows = {}
    for name, program in done.items():
        size, length, batch_size, chip, precision, form = name.split("/")
        if (length, chip, precision) == _SHOWN:
            row = rows.setdefault((size, batch_size), {})
            row[form] = _shown(program)
    for row, values in sorted(rows.items()):
        columns = [_best_known(values, form) for form in FORMS]
        yield "| " + " | ".join([*row, *columns]) + " |"


def _best_known(values, form):
    quick = values.get(f"{form}{_QUICK}")
    return values.get(form) or (f"≈ {quick}" if quick else "not compiled")


def _shown(program):
    used = f"{program['used_bytes'] / 1e9:.1f}"
    if program["available_bytes"] is not None:
        return f"does not fit ({used})"
    return f"{used} ({program['temporary_bytes'] / 1e9:.2f})"


if __name__ == "__main__":
    run(TableOptions, make_table)
