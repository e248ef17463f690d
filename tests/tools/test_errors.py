"""Errors of the commands on wrong input, and the list of cases."""

import json
import re
import shlex

import pytest

from albert_tf.cli.commands import COMMANDS
from tools.errors.__main__ import by_command_line
from tools.errors.cases import Case
from tools.errors.cases import collect
from tools.errors.cases import read_cases


@pytest.fixture
def golden(project):
    path = project / "tests" / "golden" / "errors.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_each_command_ends_with_its_golden_sentence(golden, tmp_path):
    messages = collect(tmp_path, read_cases())
    unclear = [m for m in messages.values() if not re.fullmatch(r".{20,}[.?]", m)]
    assert unclear == []
    assert golden == by_command_line(messages), "run python -m tools.errors"


def test_every_case_has_a_golden_sentence(golden):
    cases = read_cases()
    assert len(cases) == len(set(cases)) >= 60
    assert {case.command for case in cases} >= set(COMMANDS)
    assert list(golden) == [case.command_line for case in cases]


def test_flags_of_a_case():
    case = Case("data", "No file", "--a=1 --b=2 --c", "~b --a=3 --d='x y'")
    assert case.program == "albert-tf data"
    assert case.arguments == ["--a=1", "--c", *shlex.split("--a=3 --d='x y'")]
    assert case.command_line == "albert-tf data --a=1 --c --a=3 '--d=x y'"
    assert Case("a.b", "", "", "").program == "python -m a.b"
    assert Case("", "", "", "").program == "albert-tf"
