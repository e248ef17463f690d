"""A newcomer: an empty folder, the installed wheel, and what README and pages say."""

import json
import os
import re
import subprocess

import pytest

# One process for all commands of a block: each would start TensorFlow again.
_SHELL = """
import json, shlex, sys
from albert_tf.cli import commands
for line in json.load(sys.stdin):
    print(line, file=sys.stderr)
    try:
        commands.main(shlex.split(line))
    except SystemExit as end:
        if end.code:
            raise
"""


class Newcomer:
    """Types in an empty folder."""

    def __init__(self, folder, programs, project):
        self.folder = folder
        self._programs, self._project = programs, project

    def block(self, page, heading, kind="bash"):
        """Returns the first block of code in a language below a heading of a page."""
        text = (self._project / page).read_text("utf-8")
        below = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
        code = re.search(rf"```{kind}\n(.*?)```", below, re.DOTALL)[1]
        return code.replace("\\\n", " ")

    def types(self, block, small=(), first=""):
        """Runs the commands of a block; returns what they print.

        Args:
            block: lines of the shell that begin with `albert-tf`.
            small: flags by command that make it small, or name other files.
            first: Python code that runs before, in the same process.
        """
        lines = []
        for line in filter(None, block.splitlines()):
            _, command, *words = re.split(r"\s+(?=--)|(?<=albert-tf)\s+", line.strip())
            changed = dict(small).get(command, {})
            kept = [w for w in words if w[2:].partition("=")[0] not in changed]
            flags = [f"--{name}={value}" for name, value in changed.items()]
            lines.append(" ".join(["albert-tf", command, *kept, *flags]))
        return self.runs(first + _SHELL, json.dumps(lines))

    def runs(self, code, given=None):
        """Runs Python code; returns what it prints."""
        done = subprocess.run(
            [self._programs / "python", "-c", code],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self._project / "tests" / "absent")},
            input=given,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def newcomer(environment, project, tmp_path):
    return Newcomer(tmp_path, environment, project)
