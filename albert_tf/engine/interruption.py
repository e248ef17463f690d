"""Requests to stop a run: SIGTERM and SIGINT."""

import signal
import time

from absl import logging

_SAME_REQUEST = 1.0  # seconds


class Interruption:
    """Notes SIGTERM or SIGINT, so that a loop can save and leave at a safe point.

    A second signal acts as it would without us, unless it comes within a second: then
    it is the same request, which a terminal and a launcher have both passed on (`make`,
    `srun` and `timeout` do). Signals can only be caught in the main thread, and only
    between the operations of TensorFlow; elsewhere nothing is noted.

        with Interruption() as interruption:
            while not interruption.signal: ...
    """

    def __init__(self):
        self.signal = None
        self._noted = None
        self._previous = {}

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                self._previous[number] = signal.signal(number, self._note)
            except ValueError:  # not in the main thread
                break
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self._restore()

    def _note(self, number, frame):
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._noted = number, now
            logging.warning(
                "%s received: the run ends its current steps, saves and stops; send it "
                "again to stop at once.",
                signal.Signals(number).name,
            )
        elif now - self._noted > _SAME_REQUEST:
            self._restore()
            signal.raise_signal(number)

    def _restore(self):
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
