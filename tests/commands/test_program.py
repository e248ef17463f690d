"""The program albert-tf and its commands."""

import re

import pytest

import albert_tf
from albert_tf.cli import commands


def test_the_program_tells_its_version_and_commands(capsys):
    commands.main(["albert-tf", "--version"])
    assert capsys.readouterr().out == f"albert-tf {albert_tf.__version__}\n"
    commands.main(["albert-tf", "--help"])
    printed = capsys.readouterr().out
    for name, (_, about) in commands.COMMANDS.items():
        assert f"  {name} " in printed and about in printed


def test_without_a_command_the_path_is_shown_with_flags_that_there_are(capsys):
    commands.main(["albert-tf"])
    path = capsys.readouterr().out
    assert len(path.splitlines()) < 24  # one screen
    for line in re.findall(r"^  albert-tf (.*(?:\\\n.*)*)", path, re.M):
        name, *flags = re.findall(r"^\w+|--\w+", line)
        with pytest.raises(SystemExit):
            commands.main(["albert-tf", name, "--help"])
        explained = capsys.readouterr().out
        assert [flag for flag in flags if f"\n  {flag}" not in explained] == []
