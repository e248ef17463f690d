"""The command run_classifier.py."""

import subprocess
import sys


def test_command_prints_one_sentence_and_fails(project, tmp_path):
    command = [sys.executable, "run_classifier.py", f"--output_dir={tmp_path}"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: Nothing to do")
