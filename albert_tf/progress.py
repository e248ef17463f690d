"""Progress of long work: a bar on a terminal, log lines elsewhere."""

import math
import shutil
import sys
import time

from absl import logging

_BAR_WIDTH = 24
_REDRAW_SECONDS = 0.2
_LOG_SECONDS = 10.0


class Progress:
    """Shows how far a piece of work is, how fast it goes and when it will end.

    Args:
        total: how many units there are; None where that is not known.
        unit: the plural name of what is counted, such as "steps".
        label: what is being done.
        start: units that an earlier run has already done.
        stream: where to write; standard error by default.
    """

    def __init__(self, total, unit, label, start=0, stream=None):
        self.total = total
        self.unit = unit
        self.label = label
        self.start = self.done = start
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._every = _REDRAW_SECONDS if self._terminal else _LOG_SECONDS
        self._started = self._shown = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self._terminal:
            self._stream.write("\n")
            self._stream.flush()

    def update(self, done, note="", force=False):
        """Sets the units done; shows them if the last showing is long enough ago."""
        self.done = done
        now = time.monotonic()
        finished = self.total is not None and done >= self.total
        if not (force or finished or now - self._shown >= self._every):
            return
        self._shown = now
        line = self._line(now - self._started, note)
        if self._terminal:
            # A longer line would wrap, and could not be drawn over.
            line = line[: shutil.get_terminal_size().columns - 1]
            self._stream.write(f"\r\033[K{line}")
            self._stream.flush()
        else:
            logging.info("%s", line)

    def clear(self):
        """Takes the bar away, so that a line can be logged; `update` draws it again."""
        if self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = -math.inf

    def _line(self, seconds, note):
        rate = (self.done - self.start) / max(seconds, 1e-9)
        parts = [f"{rate:,.1f} {self.unit}/s"]
        if self.total is None:
            head = f"{self.label}: {self.done:,} {self.unit}"
        else:
            fraction = self.done / max(self.total, 1)
            head = f"{self.label}: {self.done:,}/{self.total:,} {fraction:4.0%}"
            if self._terminal:
                filled = int(_BAR_WIDTH * min(fraction, 1.0))
                bar = "#" * filled + "." * (_BAR_WIDTH - filled)
                head = f"{self.label} [{bar}] {self.done:,}/{self.total:,}"
            remaining = (self.total - self.done) / max(rate, 1e-9)
            parts.append(f"ETA {format_seconds(remaining)}")
        return ", ".join([head, *parts, *([note] if note else [])])


def format_seconds(seconds):
    """Returns `seconds` as `h:mm:ss`, or `m:ss` under an hour."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"
