"""Runs side by side: on cores of their own, in order, and given up after an error."""

import threading

import pytest

from benchmarks.paper import workers


@pytest.mark.parametrize(
    ("cores", "number", "shares"),
    [
        ({0, 2, 3, 5}, 2, [[0, 3], [2, 5]]),
        ({4}, 2, [[4], [4]]),
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
