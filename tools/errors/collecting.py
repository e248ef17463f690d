"""Runs of the cases in this process, and the error that each is told."""

import contextlib
import io
import os
import pkgutil
import shutil
import sys
from unittest import mock

from albert_tf.commands import COMMANDS
from tools.errors import material

_PREFIX = "error: "
_BEAM = "data_pipeline.beam"
_MAINS = {
    "": "albert_tf.commands:main",
    "tools.tpu.check": "tools.tpu.check:main",
    _BEAM: f"{_BEAM}:main",
    **{name: command.main for name, command in COMMANDS.items()},
}


def collect(folder, cases):
    """Returns the message of each case.

    Args:
        folder: the absolute path of an empty folder, for the inputs.
        cases: list of `Case`.

    Returns:
        A dict of `Case` to the text behind "error: " on standard error, a str.

    Raises:
        AssertionError: a case ends otherwise than with one such line and a status that
            is not 0.
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
