"""Looking after the processes that a process under test has started."""

import contextlib
import multiprocessing.connection
import pathlib
import time

import pytest

SECONDS = 120
_SENT_AT_ONCE = 100_000  # pipes hold fewer bytes, so the parent has begun to read

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


def stop_amid_answers(started):
    """Has this worker process send half of a large answer, and no more.

    Args:
        started: path of a file that is made when the half has been sent.
    """
    send = multiprocessing.connection.Connection._send

    def send_half(connection, content):
        half = len(content) // 2
        if half < _SENT_AT_ONCE:
            return send(connection, content)
        send(connection, content[:half])
        pathlib.Path(started).touch()
        return time.sleep(600)

    multiprocessing.connection.Connection._send = send_half
