"""Progress on a terminal and in a log."""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import termios
import time
import types

import pytest
from absl import logging

from albert_tf.display import progress
from albert_tf.display.progress import Progress
from albert_tf.display.progress import format_seconds

RECORD = ("absl", logging.converter.STANDARD_WARNING, "x.py", 1, "a line", (), None)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    fake = types.SimpleNamespace(now=100.0, monotonic=lambda: fake.now)
    monkeypatch.setattr(progress, "time", fake)
    monkeypatch.setattr(Progress, "_tick", lambda self: None)
    return fake


def frames(written):
    """Lists the lines that a terminal showed, one after the other."""
    return written.removesuffix("\n").split("\r\033[K")[1:]


def test_a_log_gets_a_line_every_ten_seconds_and_at_the_end(clock, lines):
    with Progress(1000, "steps", "training", stream=io.StringIO()) as shown:
        for done in range(100, 1001, 100):
            clock.now += 4
            shown.update(done, ["loss 3"])
        shown.update(1000)
    assert lines == [
        "training: 300/1,000  30%, 25.0 steps/s, ETA 0:28, loss 3",
        "training: 600/1,000  60%, 25.0 steps/s, ETA 0:16, loss 3",
        "training: 900/1,000  90%, 25.0 steps/s, ETA 0:04, loss 3",
        "training: 1,000/1,000 100%, 25.0 steps/s, ETA 0:00, loss 3",
    ]


def test_a_line_of_a_log(clock, lines):
    stream = io.StringIO()
    # What an earlier run did does not count as speed.
    for total, unit, start, done in (
        (200, "steps", 100, 150),
        (None, "tokens", 0, 5000),
    ):
        with Progress(total, unit, "at it", start=start, stream=stream) as progress:
            progress.update(done)  # too soon
            clock.now += 10
            progress.update(done)
    assert stream.getvalue() == ""
    assert lines == [
        "at it: 150/200  75%, 5.0 steps/s, ETA 0:10",
        "at it: 5,000 tokens, 500.0 tokens/s",
    ]


@pytest.mark.parametrize(
    ("columns", "total", "shown"),
    [
        (200, 4, f"[{'#' * 10}{'.' * 30}] 1/4, 1.0 steps/s, ETA 0:03, a"),
        (51, 4, "[##........] 1/4, 1.0 steps/s, ETA 0:03"),
        (28, 4, "[##........] 1/4"),
        (20, 4, "training: 1/4"),
        (8, 4, "trai"),
        (30, None, "training: 1 steps"),
    ],
)
def test_a_bar_fits(clock, monkeypatch, columns, total, shown):
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    with Progress(total, "steps", "training", stream=terminal) as progress:
        clock.now += 1
        progress.update(1, ["a" * 30])
        line = frames(terminal.getvalue())[-1]
        clock.now += 0.1
        progress.update(2)  # too soon after the line before
        assert frames(terminal.getvalue())[-1] == line
    assert len(line) < columns
    assert shown in line
    assert terminal.getvalue().count("\n") == 1
    assert [format_seconds(n) for n in (59.9, 61, 3661)] == ["0:59", "1:01", "1:01:01"]


def test_the_end_comes_nearer_and_more_than_all_is_all(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    with Progress(4, "steps", "training", stream=terminal) as shown:
        clock.now += 1
        shown.update(1)
        clock.now += 2
    assert frames(terminal.getvalue())[-1].endswith("] 1/4, 1.0 steps/s, ETA 0:01")
    with Progress(4, "steps", "training", stream=terminal) as shown:
        clock.now += 1
        shown.update(9)
    line = frames(terminal.getvalue())[-1]
    assert re.search(r"\[#{19}\] 9/4, 9.0 steps/s, ETA 0:00$", line), line


def test_log_lines_push_the_bar_down(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    terminal, logger = Terminal(), logging.ABSLLogger("x")

    def log():
        logging.get_absl_handler().handle(logger.makeRecord(*RECORD))

    with Progress(4, "steps", "training", stream=terminal) as shown:
        clock.now += 1
        shown.update(1)
        log()
        assert terminal.getvalue().endswith("\r\033[K")
        clock.now += 0.3
        shown.update(2)  # it may not be written yet
        assert terminal.getvalue().endswith("\r\033[K")
        clock.now += 0.5
        shown.update(3)
        assert "] 3/4" in frames(terminal.getvalue())[-1]
    ended = terminal.getvalue()
    log()
    assert terminal.getvalue() == ended


@pytest.mark.slow
def test_something_moves_while_the_first_step_is_compiled_and_fits_the_window():
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)

    def resize(columns):
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read_until(*patterns, seconds=60):
        found, deadline = "", time.monotonic() + seconds
        while not all(re.search(pattern, found) for pattern in patterns):
            assert time.monotonic() < deadline, found
            with contextlib.suppress(BlockingIOError):
                found += os.read(ours, 4096).decode()
            time.sleep(0.01)
        return found

    resize(60)
    with (
        open(ours, "rb", buffering=0),
        open(theirs, "w") as file,
        Progress(4, "steps", "training", stream=file) as shown,
    ):
        shown.waiting = "compiling"
        # A busy machine may draw few frames in a second, but in the end it draws each.
        drawn = frames(read_until(*(rf"[\{c}] training: comp" for c in "|/-\\")))
        assert {frame[:1] for frame in drawn[1:]} == set("|/-\\")
        read_until("compiling, 0:0[1-9]")
        shown.update(1)
        read_until("/s, ETA")
        resize(28)
        read_until(r"\[##........\] 1/4\r")
