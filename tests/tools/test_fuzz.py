"""The tool that gives properties far more inputs than the suite does."""

import os
import subprocess
import sys

import pytest

from tools.fuzz.__main__ import FuzzOptions
from tools.fuzz.__main__ import arguments

_TEST = """
import hypothesis
from hypothesis import strategies as st

@hypothesis.given(number=st.integers())
def test_a_property(number):
    with open("drawn.txt", "a") as file:
        print(number, file=file)

def test_another():
    assert False
"""


@pytest.fixture
def drawn(tmp_path, project, monkeypatch):
    """Runs the tool on a property, and gives what was drawn for it."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(_TEST)

    def run(*flags):
        (tmp_path / "drawn.txt").unlink(missing_ok=True)
        program = "import pathlib; import tools.fuzz.__main__ as fuzz; "
        program += "fuzz._TESTS = pathlib.Path('tests').resolve(); "
        program += "fuzz.command_line.run(fuzz.FuzzOptions, fuzz.fuzz)"
        subprocess.run(
            [sys.executable, "-c", program, *flags],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(project)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return (tmp_path / "drawn.txt").read_text().split()

    return run


@pytest.mark.slow
def test_as_many_inputs_as_asked_for_and_others_with_another_seed(drawn):
    first = drawn("--examples=300")
    assert 200 < len(first) <= 300
    assert drawn("--examples=300", "--seed=1") != first


def test_properties_are_chosen_by_name():
    assert "-k=tables" in arguments(FuzzOptions(only="tables"))
    assert not any(a.startswith("-k") for a in arguments(FuzzOptions()))
