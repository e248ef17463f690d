"""Processes of a run: requests to stop, and numbers that workers exchange."""

import contextlib
import signal
import time

import tensorflow as tf
from absl import logging

from albert_tf.engine.strategies import sum_over_replicas
from albert_tf.errors import UserError

_SAME_REQUEST = 1.0  # seconds


class Interruption:
    """Records SIGTERM or SIGINT, so that a loop can save and leave at a safe point.

    A second signal has its usual effect, unless it comes within a second: then it is
    the same request, passed on by both the terminal and a launcher (such as `make`,
    `srun` and `timeout`). Python receives signals only in the main thread and between
    TensorFlow operations; in other threads, this class does nothing.

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


class Workers:
    """Gathers a number from all processes of a strategy; all of them must call it.

    If each process decided alone when to stop or how many steps to take, they would
    wait for each other forever.
    """

    def __init__(self, strategy):
        self._strategy = strategy
        kind = tf.distribute.MultiWorkerMirroredStrategy
        self._several = isinstance(strategy, kind)
        self._gather = tf.function(self._gathered, autograph=False)

    def all_values(self, value):
        """Gathers each process's `value`: a list of floats, the same in all."""
        if not self._several:
            return [value]
        return self._gather(tf.constant(value, tf.float64)).numpy().tolist()

    def _gathered(self, value):
        values = self._strategy.run(self._on_replica, args=(value,))
        return self._strategy.experimental_local_results(values)[0]

    def _on_replica(self, value):
        context = tf.distribute.get_replica_context()
        place = tf.one_hot(
            context.replica_id_in_sync_group,
            context.num_replicas_in_sync,
            dtype=tf.float64,
        )
        return sum_over_replicas(place * value)


@contextlib.contextmanager
def naming_lost_workers():
    """Tells the user what to do if another process of the run is gone.

    Raises:
        UserError: TensorFlow found a process that has ended or is unreachable.
    """
    try:
        yield
    except tf.errors.UnavailableError as error:
        raise UserError(
            "Another worker ended or cannot be reached; start all workers again, and "
            "they continue from the last checkpoint."
        ) from error
