"""Ctrl-C while a command imports its libraries, which takes seconds, and later."""

import os
import shlex
import subprocess
import sys

import pytest

from albert_tf.cli import shell

_OUTPUT = "--output_dir=nowhere"
_TEXT = ["--input_file=a", "--output_file=b", "--spm_model_file=c"]


@pytest.fixture
def interrupted(tmp_path, project):
    """Runs Python with a TensorFlow in whose import somebody presses Ctrl-C."""
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise KeyboardInterrupt\n")

    def run(*arguments):
        path = os.pathsep.join([str(tmp_path), str(project)])
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=project,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "command",
    [
        ["run_pretraining.py", "--input_file=a", "--albert_config_file=b", _OUTPUT],
        ["-m", "albert_tf", "export", "--model_dir=a", "--export_dir=b"],
        ["-m", "data_pipeline.create_pretraining_data", *_TEXT],
    ],
)
def test_a_command_says_a_word(interrupted, command):
    done = interrupted(*command)
    assert "Traceback" not in done.stderr
    line = f"To continue, run: {shlex.join([sys.executable, *command])}"
    assert done.stderr == f"\ninterrupted\n{line}\n"
    assert done.returncode in (-2, 130)
    theirs = interrupted("-c", "import albert_tf.cli.command_line, tensorflow")
    assert "Traceback" in theirs.stderr and "KeyboardInterrupt" in theirs.stderr


def test_the_installed_program_goes_by_its_name(monkeypatch, capsys):
    command = ["/somewhere/bin/albert-tf", "pretrain", "--input_file=a b"]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(sys, "orig_argv", ["/somewhere/bin/python3", *command])
    shell.say_how_to_go_on()
    printed = capsys.readouterr().err
    assert printed == "To continue, run: albert-tf pretrain '--input_file=a b'\n"
