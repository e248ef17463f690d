"""The wrong inputs of cases.json: a command line with one mistake each.

Each group of the file has a command, flags that all its cases share, and the cases: the
mistake, and the flags that differ. `~name` leaves a shared flag out. The files that
flags name come from `material`.
"""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import pkgutil
import shlex
import shutil
import sys
from unittest import mock

from albert_tf.cli.commands import COMMANDS
from tools.errors import material

_FILE = pathlib.Path(__file__).with_name("cases.json")
_PREFIX = "error: "
_BEAM = "data_pipeline.beam"
_TOOLS = (
    "tools.demo.corpus",
    "tools.early_exit",
    "tools.inspect_layers",
    "tools.tpu.check",
    "tools.verify",
)
_MAINS = {
    "": "albert_tf.cli.commands:main",
    **{module: f"{module}:main" for module in (*_TOOLS, _BEAM)},
    **{name: main for name, (main, _) in COMMANDS.items()},
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A command line with one mistake."""

    command: str
    """A command of `albert-tf`, "" for none, or a module for `python -m`."""
    mistake: str
    """The mistake, as a heading."""
    shared: str
    """Flags that all cases of the command have in common."""
    flags: str
    """Flags that make the mistake; they take precedence."""

    @property
    def program(self):
        """The words that a user types before the flags."""
        kind = "python -m" if "." in self.command else "albert-tf"
        return f"{kind} {self.command}".strip()

    @property
    def arguments(self):
        """The command line after the program, as a list."""
        own = shlex.split(self.flags)
        left_out = tuple(f"--{flag[1:]}" for flag in own if flag.startswith("~"))
        shared = [
            flag
            for flag in self.shared.split()
            if flag.partition("=")[0] not in left_out
        ]
        return [*shared, *(flag for flag in own if not flag.startswith("~"))]

    @property
    def command_line(self):
        """The program and its arguments, as a shell reads them."""
        return shlex.join([*self.program.split(), *self.arguments])


def read_cases():
    """Returns the list of all `Case`."""
    return [
        Case(group["command"], mistake, group["flags"], flags)
        for group in json.loads(_FILE.read_text(encoding="utf-8"))
        for mistake, flags in group["cases"].items()
    ]


def collect(folder, cases):
    """Returns the message of each case.

    Args:
        folder: the absolute path of an empty folder, for the inputs.
        cases: list of `Case`.

    Returns:
        A dict from `Case` to the text after "error: " on standard error, a str.

    Raises:
        AssertionError: a case does not end with exactly one such line and a status
            other than 0.
    """
    before = os.getcwd()
    os.chdir(folder)
    try:
        material.make(folder)
        return {case: _message(case, folder) for case in cases}
    finally:
        os.chdir(before)


def _message(case, folder):
    errors, status = io.StringIO(), 0
    with (
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
        _without_beam() if case.command == _BEAM else contextlib.nullcontext(),
    ):
        try:
            pkgutil.resolve_name(_MAINS[case.command])([case.program, *case.arguments])
        except SystemExit as end:
            status = end.code
    shutil.rmtree(folder / "out", ignore_errors=True)
    text = status if isinstance(status, str) else errors.getvalue()
    lines = [line for line in text.splitlines() if line.startswith(_PREFIX)]
    assert status and len(lines) == 1, f"{case}: status {status}, {text}"
    return lines[0].removeprefix(_PREFIX)


def _without_beam():
    """Hides packages on all machines that some machines lack."""
    return mock.patch.dict(sys.modules, {"apache_beam": None})
