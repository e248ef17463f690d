"""The page of wrong inputs, and the list that it is made from."""

import re
import shlex

import pytest

from albert_tf.commands import COMMANDS
from tools import errors_page
from tools.errors.cases import Case
from tools.errors.cases import read_cases
from tools.errors.collecting import collect


@pytest.mark.slow
def test_the_page_is_what_the_commands_say(project, tmp_path):
    messages = collect(tmp_path, read_cases())
    unclear = [m for m in messages.values() if not re.fullmatch(r".{20,}[.?]", m)]
    assert unclear == []
    written = (project / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == errors_page.page(messages), "run python -m tools.errors_page"


def test_the_page_shows_every_case(project):
    cases = read_cases()
    assert len(cases) == len(set(cases)) >= 60
    assert {case.command for case in cases} >= set(COMMANDS)
    page = (project / "docs" / "errors.md").read_text(encoding="utf-8")
    for case in cases:
        assert f"\n{case.mistake}: `" in page


def test_flags_of_a_case():
    case = Case("data", "No file", "--a=1 --b=2 --c", "~b --a=3 --d='x y'")
    assert case.program == "albert-tf data"
    assert case.arguments == ["--a=1", "--c", *shlex.split("--a=3 --d='x y'")]
    assert Case("a.b", "", "", "").program == "python -m a.b"
    assert Case("", "", "", "").program == "albert-tf"


def test_the_page_of_two_cases():
    first = Case("data", "No file", "--a=1", "~a --b=2")
    second = Case("", "No command", "", "fly")
    page = errors_page.page({first: "x_y is missing.", second: "What?"})
    assert page.endswith(
        "\n## albert-tf data\n\nShared flags: `--a=1`; those of a case win.\n"
        "\nNo file: `without --a --b=2`\n\n> x\\_y is missing.\n"
        "\n## albert-tf\n\nNo command: `fly`\n\n> What?\n"
    )
