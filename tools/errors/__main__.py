"""Writes the golden file of the commands' errors on wrong input.

  python -m tools.errors

runs every case of tools/errors/cases.json and takes a minute. A test fails where a
command no longer says what the file holds.
"""

import dataclasses
import pathlib
import tempfile

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.io.files import write_json


@dataclasses.dataclass(frozen=True)
class ErrorsOptions:
    """The flags of `python -m tools.errors`."""

    golden: str = option("JSON file to write.", "tests/golden/errors.json")


def write_golden(options):
    """Runs the cases and writes the file."""
    # Imported here, so that --help does not wait for TensorFlow.
    from tools.errors.cases import collect
    from tools.errors.cases import read_cases

    with tempfile.TemporaryDirectory() as folder:
        messages = collect(pathlib.Path(folder).resolve(), read_cases())
    write_json(pathlib.Path(options.golden), by_command_line(messages))


def by_command_line(messages):
    """Returns a dict of the command line to its sentence, from a dict of `Case`."""
    return {case.command_line: message for case, message in messages.items()}


def main(argv=None):
    """Runs the command."""
    run(ErrorsOptions, write_golden, argv=argv)


if __name__ == "__main__":
    main()
