"""Looking after the processes that a process under test has started."""

import contextlib
import pathlib
import time

import pytest

SECONDS = 120

needs_proc = pytest.mark.skipif(
    not pathlib.Path("/proc/self/task").exists(),
    reason="children are looked up in /proc, which is missing",
)


def wait_until(is_true, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def is_alive(pid):
    with contextlib.suppress(OSError):
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
        return state.split()[0] != "Z"
    return False
