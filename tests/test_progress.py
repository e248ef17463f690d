"""Progress on a terminal and in a log."""

import io

import pytest

from albert_tf import progress
from albert_tf.progress import Progress
from albert_tf.progress import format_seconds


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    fake = Clock()
    monkeypatch.setattr(progress, "time", fake)
    return fake


def test_a_log_gets_a_line_every_ten_seconds_and_at_the_end(clock, lines):
    with Progress(1000, "steps", "training", stream=io.StringIO()) as shown:
        for done in range(100, 1001, 100):
            clock.now += 4
            shown.update(done, "loss 3")
    assert lines == [
        "training: 300/1,000  30%, 25.0 steps/s, ETA 0:28, loss 3",
        "training: 600/1,000  60%, 25.0 steps/s, ETA 0:16, loss 3",
        "training: 900/1,000  90%, 25.0 steps/s, ETA 0:04, loss 3",
        "training: 1,000/1,000 100%, 25.0 steps/s, ETA 0:00, loss 3",
    ]


def test_what_an_earlier_run_did_does_not_count_as_speed(clock, lines):
    with Progress(200, "steps", "training", start=100, stream=io.StringIO()) as shown:
        clock.now += 10
        shown.update(150)
    assert lines == ["training: 150/200  75%, 5.0 steps/s, ETA 0:10"]


def test_an_unknown_total_shows_no_share(clock, lines):
    with Progress(None, "tokens", "counting", stream=io.StringIO()) as shown:
        clock.now += 10
        shown.update(5000)
    assert lines == ["counting: 5,000 tokens, 500.0 tokens/s"]


def test_a_terminal_gets_a_bar_on_one_line(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with Progress(4, "steps", "training", stream=terminal) as shown:
        clock.now += 1
        shown.update(1)
        clock.now += 0.1
        shown.update(2)  # too soon after the line before
        shown.update(4)
    written = terminal.getvalue()
    assert written.count("\r") == 2 and written.count("\n") == 1
    assert "training [######..................] 1/4, 1.0 steps/s, ETA 0:03" in written
    assert "[########################] 4/4" in written


def test_a_bar_never_wraps_and_makes_way_for_a_log_line(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    with Progress(4, "steps", "training", stream=terminal) as shown:
        clock.now += 1
        shown.update(1, note="loss 3" * 20)
        assert len(terminal.getvalue().removeprefix("\r\033[K")) == 59
        shown.clear()
        assert terminal.getvalue().endswith("\r\033[K")
        shown.update(2)  # at once, though the line before was just drawn
    assert "2/4" in terminal.getvalue()


def test_in_a_log_there_is_nothing_to_clear(clock, lines):
    stream = io.StringIO()
    with Progress(4, "steps", "training", stream=stream) as shown:
        shown.clear()
    assert stream.getvalue() == "" and lines == []


def test_durations():
    assert [format_seconds(s) for s in (0, 59.9, 61, 3661)] == [
        "0:00",
        "0:59",
        "1:01",
        "1:01:01",
    ]
