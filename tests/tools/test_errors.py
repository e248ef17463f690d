"""Errors of the commands on wrong input, and the list of cases."""

import json
import re

import pytest

from albert_tf.cli.commands import COMMANDS
from tools.errors.__main__ import by_command_line
from tools.errors.cases import collect
from tools.errors.cases import read_cases


@pytest.mark.slow
def test_each_command_ends_with_its_golden_sentence(project, tmp_path):
    golden = json.loads((project / "tests/golden/errors.json").read_text("utf-8"))
    cases = read_cases()
    assert len(cases) == len(set(cases)) >= 60
    assert {case.command for case in cases} >= set(COMMANDS)
    messages = collect(tmp_path, cases)
    unclear = [m for m in messages.values() if not re.fullmatch(r".{20,}[.?]", m)]
    assert unclear == []
    assert golden == by_command_line(messages), "run python -m tools.errors"
