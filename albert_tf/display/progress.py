"""Progress of long work: a bar on a terminal, log lines elsewhere."""

import contextlib
import os
import shutil
import sys
import threading
import time

from absl import logging

_NARROWEST_BAR, _WIDEST_BAR = 10, 40
_SPINNER = "|/-\\"
_REDRAW_SECONDS = 0.2
_LOG_SECONDS = 10.0
# How long the bar stays hidden after a line is logged.
_AWAY_SECONDS = 0.5


class Progress:
    """Shows the progress of work, its speed and when it will end.

    On a terminal, the bar fits the width of the window, and a spinner turns even while
    nothing advances, for example while XLA compiles before the first step. Log lines
    push the bar down. (`keras.utils.Progbar` draws only when it is updated, wraps in
    narrow windows and is overwritten by log lines.)

    Args:
        total: the number of units; None if unknown.
        unit: the plural name of the units, such as "steps".
        label: name of the work.
        start: units that an earlier run has already done.
        stream: where to write; standard error by default.

    Attributes:
        waiting: name of the work until the first unit is done.
    """

    def __init__(self, total, unit, label, start=0, stream=None):
        self.total = total
        self.unit = unit
        self.label = label
        self.start = self.done = start
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._every = _REDRAW_SECONDS if self._terminal else _LOG_SECONDS
        self._started = self._shown = self._updated = time.monotonic()
        self._notes = None  # nothing is done yet
        self.waiting = "getting ready"
        self._lock = threading.RLock()  # a signal may log while the bar is drawn
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self):
        if self._terminal:
            logging.get_absl_handler().addFilter(self._make_way)
            self._draw()
            self._ticker.start()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self._terminal:
            self._ended.set()
            self._ticker.join()
            logging.get_absl_handler().removeFilter(self._make_way)
            self._draw()
            self._write("\n")

    def update(self, done, notes=()):
        """Sets the units done, and shows them unless it was shown just before.

        Args:
            done: units, including those of earlier runs.
            notes: further remarks, the most important first.
        """
        with self._lock:
            now = time.monotonic()
            # What is read in blocks reaches its end before the work does.
            finished = self.total is not None and self.done < self.total <= done
            self.done, self._notes, self._updated = done, notes, now
            if not finished and now - self._shown < self._every:
                return
            if self._terminal:
                self._draw()
            else:
                self._shown = now
                logging.info("%s", self._log_line())

    def _tick(self):
        """Redraws periodically, as time passes and the window may change."""
        # The terminal may have been closed.
        with contextlib.suppress(OSError, ValueError):
            while not self._ended.wait(_REDRAW_SECONDS):
                with self._lock:
                    if time.monotonic() >= self._shown:
                        self._draw()

    def _make_way(self, record):
        """Hides the bar so that a line can be logged; a filter of the log handler."""
        with self._lock:
            self._write("\r\033[K")
            self._shown = time.monotonic() + _AWAY_SECONDS
        return True

    def _draw(self):
        self._shown = time.monotonic()
        # A longer line would wrap, and could not be drawn over.
        room = _columns(self._stream) - 1
        self._write(f"\r\033[K{self._line(room)[:room]}")

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()

    def _line(self, room):
        """Returns the line for a terminal, in `room` columns if possible."""
        seconds = self._shown - self._started
        label = f"{_SPINNER[int(seconds / _REDRAW_SECONDS) % 4]} {self.label}"
        if self._notes is None:
            return f"{label}: {self.waiting}, {format_seconds(seconds)}"
        parts = [self._count(), *self._speed(), *self._notes]
        least = 0 if self.total is None else _NARROWEST_BAR
        while len(f"{label} [] {', '.join(parts)}") + least > room and parts[1:]:
            parts.pop()
        rest = ", ".join(parts)
        width = min(room - len(f"{label} [] {rest}"), _WIDEST_BAR)
        if self.total is None or width < least:
            return f"{label}: {rest}"
        filled = int(width * min(self.done / max(self.total, 1), 1.0))
        return f"{label} [{'#' * filled}{'.' * (width - filled)}] {rest}"

    def _log_line(self):
        share = ""
        if self.total is not None:
            share = f" {self.done / max(self.total, 1):4.0%}"
        head = f"{self.label}: {self._count()}{share}"
        return ", ".join([head, *self._speed(), *self._notes])

    def _count(self):
        if self.total is None:
            return f"{self.done:,} {self.unit}"
        return f"{self.done:,}/{self.total:,}"

    def _speed(self):
        rate = (self.done - self.start) / max(self._updated - self._started, 1e-9)
        parts = [f"{rate:,.1f} {self.unit}/s"]
        if self.total is not None and rate:
            remaining = (self.total - self.done) / rate
            passed = time.monotonic() - self._updated
            parts.append(f"ETA {format_seconds(max(remaining - passed, 0))}")
        return parts


def _columns(stream):
    """Returns a terminal's current width."""
    # `shutil` would ask standard output, which may be a file.
    with contextlib.suppress(OSError):
        if columns := os.get_terminal_size(stream.fileno()).columns:
            return columns
    return shutil.get_terminal_size().columns


def format_seconds(seconds):
    """Returns `seconds` as `h:mm:ss`, or `m:ss` under an hour."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"
