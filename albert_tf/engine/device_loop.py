"""Runs training steps on the devices, several between two looks of the host."""

import functools

import tensorflow as tf

from albert_tf.engine.train_step import replica_rows


class DeviceLoop:
    """Takes global batches from an iterator and trains on them.

    Args:
        train_step: the `TrainStep`.
        strategy: the `tf.distribute.Strategy` it was made for.
    """

    def __init__(self, train_step, strategy):
        self.train_step = train_step
        self.strategy = strategy
        self._steps = tf.function(self._run_steps)
        self._observed_step = tf.function(self._run_observed_step)

    def run(self, iterator, count, micro_batches):
        """Runs `count` steps.

        Args:
            iterator: gives the batches, dicts of `[global batch, ...]`.
            count: int.
            micro_batches: int, what a replica's rows are split into.

        Returns:
            Sums and weights of the metrics, float32 `[metrics, 2]`; rows and tokens
            of the batches, padding included, int64 `[2]`.
        """
        totals, sizes = self._steps(iterator, tf.constant(count), micro_batches)
        return totals.numpy(), sizes.numpy()

    def run_observed(self, iterator, micro_batches):
        """As `run`, one step; also returns its `VARIABLE_STATISTICS`, float32."""
        results = self._observed_step(iterator, micro_batches)
        return [result.numpy() for result in results]

    def _run_steps(self, iterator, count, micro_batches):
        step = functools.partial(self.train_step, micro_batches=micro_batches)
        totals = tf.zeros([len(self.train_step.metric_names), 2])
        sizes = tf.zeros([2], tf.int64)
        for _ in tf.range(count):
            batch = next(iterator)
            totals += self._first(step, batch)
            sizes += _sizes(batch)
        return totals, sizes

    def _run_observed_step(self, iterator, micro_batches):
        step = functools.partial(
            self.train_step, with_statistics=True, micro_batches=micro_batches
        )
        batch = next(iterator)
        sums, statistics = self._first(step, batch)
        return sums, _sizes(batch), statistics

    def _first(self, step, batch):
        """What `step` returns on the first replica; it is the same on all."""
        rows = replica_rows(self.strategy, batch)
        results = self.strategy.run(step, args=(rows,))
        first = [
            self.strategy.experimental_local_results(result)[0]
            for result in tf.nest.flatten(results)
        ]
        return first if isinstance(results, tuple) else first[0]


def _sizes(batch):
    ids = batch["input_ids"]
    return tf.stack([tf.shape(ids, tf.int64)[0], tf.size(ids, tf.int64)])
