"""Two runs do not write into one folder."""

import subprocess
import sys

import pytest

from albert_tf.errors import UserError
from albert_tf.io.folder_lock import folder_lock

_HOLD = """
import sys
from albert_tf.io.folder_lock import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_run_is_told_of_the_first(tmp_path, project):
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=project, **pipes) as first:
        assert first.stdout.readline() == "held\n"
        message = f"{tmp_path} is in use by process {first.pid} on .*, which began on 2"
        with pytest.raises(UserError, match=message), folder_lock(tmp_path):
            pass
        first.kill()
    with folder_lock(tmp_path):  # the lock went with its process
        pass


def test_a_folder_is_free_again_after_the_run(tmp_path):
    for _ in range(2):
        refused = pytest.raises(UserError, match="in use")
        with folder_lock(tmp_path), refused, folder_lock(tmp_path):
            pass
    assert not list(tmp_path.iterdir())


def test_a_bucket_has_no_lock():
    with folder_lock("ram://folder"), folder_lock("ram://folder"):
        pass
