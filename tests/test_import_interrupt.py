"""Ctrl-C while libraries are imported, which takes seconds."""

import os
import subprocess
import sys

import pytest


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
        ["run_pretraining.py"],
        ["run_classifier.py"],
        ["run_squad.py"],
        ["-m", "albert_tf.serving.export"],
        ["-m", "albert_tf.convert"],
        ["-m", "data_pipeline.create_pretraining_data"],
    ],
)
def test_a_command_says_a_word(interrupted, command):
    required = ["--input_file=a", "--output_dir=b", "--output_file=c", "--data_dir=d"]
    done = interrupted(*command, *required)
    assert "Traceback" not in done.stderr
    assert done.stderr == "\ninterrupted\n"
    assert done.returncode in (-2, 130)


def test_programs_of_others_keep_their_traceback(interrupted):
    done = interrupted("-c", "import albert_tf, tensorflow")
    assert "Traceback" in done.stderr and "KeyboardInterrupt" in done.stderr
    done = interrupted("-c", "import albert_tf.command_line, tensorflow")
    assert "Traceback" in done.stderr
