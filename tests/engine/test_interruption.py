"""Effects of signals on a run, and their moments."""

import concurrent.futures
import signal

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
    signal.raise_signal(first)  # the signals are given back
    assert outer == [second, first, first]
    with concurrent.futures.ThreadPoolExecutor() as other, Interruption():
        other.submit(Interruption().__enter__).result()  # elsewhere it does nothing
