"""The wrong inputs of cases.json: a command line with one mistake each.

Each group of the file has a command, flags that all its cases share, and the cases: the
mistake, and the flags that differ. `~name` leaves a shared flag out. The files that
flags name come from `material`.
"""

import dataclasses
import json
import pathlib
import shlex

_FILE = pathlib.Path(__file__).with_name("cases.json")


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
    """Those that make the mistake, which win."""

    @property
    def program(self):
        """The words that a user types before the flags."""
        kind = "python -m" if "." in self.command else "albert-tf"
        return f"{kind} {self.command}".strip()

    @property
    def arguments(self):
        """The command line behind the program, as a list."""
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
