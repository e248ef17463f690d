"""Asking a run to stop: SIGTERM and SIGINT."""

import signal

from absl import logging


class Interruption:
    """Notes SIGTERM or SIGINT, so that a loop can save and leave at a safe point.

    A second signal acts as it would without us. Signals can only be caught in the
    main thread; elsewhere nothing is noted.

        with Interruption() as interruption:
            while not interruption.signal: ...
    """

    def __init__(self):
        self.signal = None
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
        self.signal = number
        logging.warning(
            "%s: saving after the steps under way; again to stop at once.",
            signal.Signals(number).name,
        )
        self._restore()

    def _restore(self):
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
