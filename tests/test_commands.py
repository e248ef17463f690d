"""The program albert-tf and its commands."""

import pkgutil
import subprocess
import sys

import pytest

from albert_tf import commands


def test_the_program_lists_its_commands(capsys):
    commands.main(["albert-tf", "--help"])
    printed = capsys.readouterr().out
    for name, command in commands.COMMANDS.items():
        assert f"  {name} " in printed
        assert command.about in printed


@pytest.mark.parametrize("name", list(commands.COMMANDS))
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        commands.main(["albert-tf", name, "--help"])
    assert ended.value.code == 0
    assert "flags:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pretain", "'pretain' is no command of albert-tf; did you mean pretrain?"),
        ("fly", "'fly' is no command of albert-tf; see albert-tf --help."),
    ],
)
def test_a_command_that_is_none(name, message):
    with pytest.raises(SystemExit) as ended:
        commands.main(["albert-tf", name])
    assert ended.value.code == f"error: {message}"


def test_a_command_takes_its_flags_and_errors_are_one_sentence(capsys):
    with pytest.raises(SystemExit) as ended:
        commands.main(["albert-tf", "convert", "--from=nowhere", "--to=x"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("error: nowhere holds no checkpoint")


@pytest.mark.parametrize(
    "script", ["run_pretraining.py", "run_classifier.py", "run_race.py", "run_squad.py"]
)
def test_help_does_not_wait_for_tensorflow(script, project):
    code = (
        "import runpy, sys; sys.argv = ['run', '--help']\n"
        f"try: runpy.run_path({script!r}, run_name='__main__')\n"
        "finally: assert 'tensorflow' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, check=False)
    assert done.returncode == 0


def test_what_runs_a_command_is_there():
    for command in commands.COMMANDS.values():
        assert callable(pkgutil.resolve_name(command.main))
