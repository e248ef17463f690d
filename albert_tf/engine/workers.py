"""Exchange of numbers between the processes of a run."""

import contextlib

import tensorflow as tf

from albert_tf.errors import UserError


class Workers:
    """Gathers a number from all processes of a strategy, which all have to call it.

    Processes that decided on their own whether to stop or how many steps to take
    would wait for each other for ever.

    Args:
        strategy: a `tf.distribute.Strategy`.
    """

    def __init__(self, strategy):
        self._strategy = strategy
        kind = tf.distribute.MultiWorkerMirroredStrategy
        self._several = isinstance(strategy, kind)
        self._gather = tf.function(self._gathered, autograph=False)

    def all_values(self, value):
        """Returns what each process passed as `value`, floats, the same in all."""
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
        return context.all_reduce(tf.distribute.ReduceOp.SUM, place * value)


@contextlib.contextmanager
def naming_lost_workers():
    """Says what to do where another process of the run is gone.

    Raises:
        UserError: TensorFlow found one that has ended or cannot be reached.
    """
    try:
        yield
    except tf.errors.UnavailableError as error:
        raise UserError(
            "Another worker ended or cannot be reached; start all workers again, and "
            "they continue from the last checkpoint."
        ) from error
