"""Workers start whole, leave Ctrl-C to their parent, and end with it."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time

import pytest

from albert_tf.io import processes
from tests.child_processes import SECONDS
from tests.child_processes import children_of
from tests.child_processes import is_alive
from tests.child_processes import needs_proc
from tests.child_processes import wait_until

_SIGNALS = [signal.SIGINT, signal.SIGTERM]
# A signal comes when the first worker has started, but has not been told what to do.
_SIGNALLED = """
import multiprocessing.util, signal, sys, time
from albert_tf.io import processes
start = multiprocessing.util.spawnv_passfds

def start_and_signal(path, arguments, descriptors):
    pid = start(path, arguments, descriptors)
    if any("spawn_main" in str(argument) for argument in arguments):
        signal.raise_signal(int(sys.argv[1]))
    return pid

multiprocessing.util.spawnv_passfds = start_and_signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: sys.exit(128 + number))
with processes.calls_in_processes(time.sleep, [(600,), (600,)], 2):
    print("the signal is lost")
"""
_WAITING = """
import time
from albert_tf.io import processes
with processes.calls_in_processes(time.sleep, [(600,), (600,)], 2) as futures:
    futures[0].result()
"""
_AMID_AN_ANSWER = """
import os, sys, time
from albert_tf.io import processes
from tests.child_processes import stop_amid_answers
with processes.calls_in_processes(
    bytes, [(1_000_000,)], 1, stop_amid_answers, (sys.argv[1],)
):
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    sys.exit(3)
"""
_BLOCKED = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"


@pytest.fixture
def handled():
    """The signals that this process has handled."""
    numbers = []
    before = {n: signal.signal(n, lambda n, _: numbers.append(n)) for n in _SIGNALS}
    yield numbers
    for handler in before.items():
        signal.signal(*handler)


def test_held_signals_are_handled_once_after_the_block(handled):
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with processes.signals_held():
        for number in [*_SIGNALS, *_SIGNALS]:
            signal.raise_signal(number)
        assert handled == []
        blocked = subprocess.check_output([sys.executable, "-c", _BLOCKED], text=True)
    assert sorted(handled) == sorted(_SIGNALS)
    assert "SIGINT" in blocked and "SIGTERM" not in blocked
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    signal.raise_signal(signal.SIGTERM)
    assert len(handled) == 3


def test_a_signal_while_workers_start_prints_no_traceback(project):
    command = [sys.executable, "-c", _SIGNALLED, str(int(signal.SIGINT))]
    options = {"cwd": project, "capture_output": True, "timeout": SECONDS}
    run = subprocess.run(command, **options)
    assert (run.returncode, run.stdout, run.stderr) == (128 + signal.SIGINT, b"", b"")


@needs_proc
def test_workers_end_with_a_parent_that_cannot_say_so(project):
    command, options = [sys.executable, "-c", _WAITING], {"stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=project, **options) as process:
        wait_until(lambda: len(children_of(process.pid)) >= 3)
        children = children_of(process.pid)
        process.kill()
        process.wait(SECONDS)
        wait_until(lambda: not any(map(is_alive, children)))


def test_half_an_answer_does_not_keep_the_command(project, tmp_path):
    command = [sys.executable, "-c", _AMID_AN_ANSWER, str(tmp_path / "started")]
    assert subprocess.run(command, cwd=project, timeout=SECONDS).returncode == 3


def test_other_threads_start_processes_as_well(handled):
    answers = []

    def call():
        with processes.calls_in_processes(divmod, [(7, 2), (9, 4)], 2) as futures:
            answers.extend(future.result() for future in futures)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert answers == [(3, 1), (2, 1)]


def test_an_exception_is_raised_and_ends_busy_workers():
    with (
        pytest.raises(ZeroDivisionError),
        processes.calls_in_processes(pow, [(0, -1)], 1) as futures,
    ):
        futures[0].result()
    others = set(multiprocessing.active_children())
    with (
        pytest.raises(KeyError),
        processes.calls_in_processes(time.sleep, [(600,), (600,)], 2),
    ):
        assert len(set(multiprocessing.active_children()) - others) == 2
        raise KeyError
    wait_until(lambda: not set(multiprocessing.active_children()) - others)
