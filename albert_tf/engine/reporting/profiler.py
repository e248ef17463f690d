"""A trace of some training steps, for TensorBoard's profiler."""

import os

import tensorflow as tf
from absl import logging

_NEVER = float("inf")


class StepProfiler:
    """Traces the steps of a range into `<directory>/profile`.

    TensorFlow writes the trace itself; only the one who looks at it needs
    TensorBoard and its profiler plugin. As a context manager it ends a trace that is
    under way when a run stops early.

    Args:
        directory: the run's directory.
        steps: (from, to): the work between these steps is traced; None for nothing.
    """

    def __init__(self, directory, steps):
        self._directory = os.path.join(directory, "profile")
        self._first, self._end = steps or (_NEVER, _NEVER)
        self._running = False

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self._stop()

    def announce(self, begin, end):
        """Warns where a run from step `begin` to step `end` has nothing to trace."""
        if self._first < _NEVER and max(begin, self._first) >= min(end, self._end):
            logging.warning(
                "--profile_steps=%d:%d records no trace: this run goes from step %d "
                "to %d",
                self._first,
                self._end,
                begin,
                end,
            )

    def next_stop(self, step):
        """Returns the range's next begin or end after `step`; infinite after it."""
        return min((s for s in (self._first, self._end) if s > step), default=_NEVER)

    def before_loop(self, step):
        """Starts the trace if `step` is in the range."""
        if self._first <= step < self._end and not self._running:
            tf.profiler.experimental.start(self._directory)
            self._running = True

    def after_loop(self, step):
        """Ends the trace where the range ends."""
        if step >= self._end:
            self._stop()

    def _stop(self):
        if self._running:
            tf.profiler.experimental.stop()
            self._running = False
            logging.info(
                "To see the trace, run tensorboard --logdir=%s", self._directory
            )
