"""The command run_classifier.py."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "Nothing to do"),
        (
            (
                "--do_predict",
                "--input_text=x",
                "--albert_hub_module_handle=https://tfhub.dev/google/albert_base/2",
            ),
            "https://tfhub.dev/google/albert_base/2 is a web page; write "
            "https://tfhub.dev/google/albert_base/2?tf-hub-format=compressed instead",
        ),
    ],
)
def test_command_prints_one_sentence_and_fails(project, tmp_path, flags, message):
    command = [sys.executable, "run_classifier.py", f"--output_dir={tmp_path}", *flags]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"error: {message}")
