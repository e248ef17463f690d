"""Runs side by side: on cores of their own, in order, and given up after an error."""

import os
import subprocess
import sys
import threading

import pytest

from albert_tf.errors import UserError
from benchmarks import pretraining_gain
from benchmarks.paper import workers

_ASK = "import os; print(sorted(os.sched_getaffinity(0)))"


def _cores_of_a_command(meeting):
    meeting.wait(timeout=60)
    command = [sys.executable, "-c", _ASK]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("cores", "number", "shares"),
    [
        ({0, 1}, 2, [[0], [1]]),
        ({0, 2, 3, 5}, 2, [[0, 3], [2, 5]]),
        ({4}, 2, [[4], [4]]),
        ({0, 1}, 1, [[0, 1]]),
    ],
)
def test_workers_divide_the_cores(monkeypatch, cores, number, shares):
    given = []
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: cores)
    monkeypatch.setattr(
        workers.os, "sched_setaffinity", lambda _, own: given.append(own)
    )
    meeting = threading.Barrier(number)
    with workers.pool(number) as pool:
        for job in [pool.submit(meeting.wait, 60) for _ in range(number)]:
            job.result()
    assert sorted(given) == shares


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="Needs two cores that this platform can tell apart.",
)
def test_commands_keep_to_the_cores_of_their_worker():
    own = sorted(os.sched_getaffinity(0))
    meeting = threading.Barrier(2)
    with workers.pool(2) as pool:
        jobs = [pool.submit(_cores_of_a_command, meeting) for _ in range(2)]
        found = {job.result() for job in jobs}
    assert found == {str(own[0::2]), str(own[1::2])}
    assert sorted(os.sched_getaffinity(0)) == own


def test_what_has_not_begun_is_given_up_after_an_error():
    begun = []

    def fail():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), workers.pool(1) as pool:
        hold = threading.Event()
        first = pool.submit(fail)
        pool.submit(hold.wait, 60)
        last = pool.submit(begun.append, 1)
        last.add_done_callback(lambda _: hold.set())
        first.result()
    assert last.cancelled()
    assert not begun


def test_lines_of_a_command_begin_with_its_label(capfd):
    with pytest.raises(UserError, match="albert_tf.cli.commands --unknown=1 failed"):
        pretraining_gain.run_module(
            "albert_tf.cli.commands", {"unknown": 1}, "seed 2: "
        )
    line = capfd.readouterr().out
    assert line.startswith("seed 2: error: albert-tf has no command '--unknown=1'")
