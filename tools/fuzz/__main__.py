"""Tries far more inputs on every property of the tests than the suite does.

  python -m tools.fuzz --examples=100000
  python -m tools.fuzz --examples=100000 --only=tables --seed=1

A property is a test that draws its input with hypothesis: a parser gives what its input
says, or raises `UserError`; two implementations agree; what is written reads back. The
command runs them one after the other, prints how many inputs each was given, and exits
with the status of pytest, which prints the smallest input that breaks a property.
"""

import dataclasses
import importlib
import pathlib
import sys

import pytest

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option

_TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / "tests"


@dataclasses.dataclass(frozen=True)
class FuzzOptions:
    """The flags of `python -m tools.fuzz`."""

    examples: int = option("Number of inputs for each property.", 10_000, minimum=1)
    seed: int = option("Seed of the inputs; equal seeds give equal inputs.", 0)
    only: str = option("Run the properties whose file or name holds this.", "")


def arguments(options):
    """Returns the arguments of pytest for some `FuzzOptions`."""
    chosen = [f"-k={options.only}"] if options.only else []
    return [
        str(_TESTS),
        "-m=hypothesis",
        f"--hypothesis-seed={options.seed}",
        "--hypothesis-show-statistics",
        "-pno:cacheprovider",
        *chosen,
    ]


class _Profile:
    """A plugin of pytest: as many examples as were asked for, new ones by each seed."""

    def __init__(self, examples):
        self.examples = examples

    def pytest_sessionstart(self):
        # Other settings are as in the suite's own profile, of tests/conftest.py.
        hypothesis = importlib.import_module("hypothesis")
        hypothesis.settings.register_profile(
            "fuzz", max_examples=self.examples, derandomize=False
        )
        hypothesis.settings.load_profile("fuzz")


def fuzz(options):
    """Runs the properties, and exits with the status of pytest."""
    sys.exit(pytest.main(arguments(options), plugins=[_Profile(options.examples)]))


if __name__ == "__main__":
    command_line.run(FuzzOptions, fuzz)
