"""Two runs do not write into one folder."""

import concurrent.futures
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
    def takes_it():
        with pytest.raises(UserError, match="in use"), folder_lock(tmp_path):
            pass

    with concurrent.futures.ThreadPoolExecutor() as other_thread:
        for _ in range(2):
            with folder_lock(tmp_path), folder_lock(f"{tmp_path}/"):  # its own
                other_thread.submit(takes_it).result()
    assert not list(tmp_path.iterdir())
    with folder_lock("ram://folder"), folder_lock("ram://folder"):  # buckets have none
        pass


def test_a_planted_link_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".lock").symlink_to("../victim")
    with folder_lock(folder):
        assert not (folder / ".lock").is_symlink()
    assert (tmp_path / "victim").read_text() == "precious"
