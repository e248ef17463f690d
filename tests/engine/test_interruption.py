"""Effects of signals on a run, and their moments."""

import os
import signal
import threading

import pytest

from albert_tf.engine import processes
from albert_tf.engine.processes import Interruption


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""
    now = [100.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def outer():
    """The signals that reach whoever was there before."""
    reached = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(n, lambda n, _: reached.append(n)) for n in numbers]
    yield reached
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGINT)],
)
def test_two_at_once_are_one_request(first, second, clock, outer):
    with Interruption() as asked:
        signal.raise_signal(first)
        clock[0] += 0.02
        signal.raise_signal(second)
        assert (asked.signal, outer) == (first, [])
        clock[0] += 1.1
        signal.raise_signal(second)
        assert (asked.signal, outer) == (first, [second])
        signal.raise_signal(first)
        assert outer == [second, first]


def test_the_signals_are_given_back(outer):
    with Interruption() as asked:
        assert asked.signal is None
    os.kill(os.getpid(), signal.SIGTERM)
    assert outer == [signal.SIGTERM]


def test_elsewhere_than_in_the_main_thread(outer):
    found = []

    def work():
        with Interruption() as asked:
            found.append(asked.signal)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]
