"""The command run_classifier.py."""

import re
import subprocess
import sys

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly


@pytest.mark.slow
def test_command_prints_one_sentence_and_fails(project, tmp_path):
    command = [sys.executable, "run_classifier.py", f"--output_dir={tmp_path}"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: Nothing to do")


def test_a_page_of_the_hub_is_no_model(tmp_path):
    page = "https://tfhub.dev/google/albert_base/2"
    flags = ["--do_predict", "--input_text=x", f"--albert_hub_module_handle={page}"]
    options = parse(ClassifierOptions, ["", f"--output_dir={tmp_path}", *flags])
    message = f"{page} is a web page; write {page}?tf-hub-format=compressed instead"
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        run_repeatedly(options)
