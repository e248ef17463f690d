"""A training step for objectives that compare all rows of the global batch."""

import tensorflow as tf

from albert_tf.engine.compilation import compiled
from albert_tf.engine.strategies import sum_over_replicas
from albert_tf.engine.train_step import TrainStep
from albert_tf.engine.train_step import part_of
from albert_tf.layers.activations import compiled_activations
from albert_tf.objectives.base import reported_sums

_HALF = 2**16


def step_of(model, objective, optimizer, options):
    """Makes the `TrainStep` or `ContrastiveStep` that the objective needs."""
    step_class = ContrastiveStep if objective.compares_rows else TrainStep
    return step_class(model, objective, optimizer, options)


class ContrastiveStep(TrainStep):
    """A `TrainStep` whose loss sees the outputs of all rows on all replicas.

    It first computes the gradient of the loss with respect to all outputs; each replica
    then backpropagates from its own rows to the weights. Micro-batches run twice,
    without and with gradients, so that the batch may be larger than memory while the
    gradients are exact. Source: Gao et al., "Scaling Deep Contrastive Learning Batch
    Size under Memory Limited Setup" (2021), section 3.2.

    Args:
        model, objective, optimizer, options: see `TrainStep`; `objective.outputs` are
            float32 `[rows, ...]`.
    """

    def __init__(self, model, objective, optimizer, options):
        super().__init__(model, objective, optimizer, options)
        self._compiled_outputs = compiled(self._outputs, options.use_xla)
        self._compiled_comparison = compiled(self._compare, options.use_xla)
        self._compiled_part = compiled(self._part_gradients, options.use_xla)

    def _gradients(self, rows, denominators, seed, micro_batches, carried):
        if micro_batches == 1:
            with tf.GradientTape() as tape:
                outputs = self._compiled_outputs(rows, seed)
            upstream, sums = self._upstream(outputs, rows, denominators)
            found = tape.gradient(outputs, self._weights(), upstream)
            return self._filled(found), sums, {}
        size = rows["labels"].shape[0] // micro_batches

        def part(i):
            own = {name: part_of(value, i * size, size) for name, value in rows.items()}
            return own, tf.random.experimental.stateless_fold_in(seed, i)

        outputs = self._outputs_in_parts(part, micro_batches)
        upstream, sums = self._upstream(outputs, rows, denominators)

        def add_part(i, gradients):
            more = self._compiled_part(*part(i), part_of(upstream, i * size, size))
            return i + 1, [a + b for a, b in zip(gradients, more, strict=True)]

        zeros = [tf.zeros(v.shape) for v in self._weights()]
        _, gradients = tf.while_loop(
            lambda i, _: i < micro_batches, add_part, (0, zeros)
        )
        return gradients, sums, {}

    def _outputs_in_parts(self, part, micro_batches):
        """Concatenates the outputs of all parts, without gradients."""
        parts = tf.TensorArray(tf.float32, micro_batches)
        _, parts = tf.while_loop(
            lambda i, _: i < micro_batches,
            lambda i, parts: (i + 1, parts.write(i, self._compiled_outputs(*part(i)))),
            (0, parts),
        )
        return parts.concat()

    def _upstream(self, outputs, rows, denominators):
        """Computes the loss gradient for this replica's outputs, and metrics."""
        replica = tf.distribute.get_replica_context()
        count, place = replica.num_replicas_in_sync, replica.replica_id_in_sync_group
        size = rows["labels"].shape[0]

        def of_all(value):
            """Returns the rows of all replicas, as integers or float32."""
            if value.dtype.is_integer:  # not all devices add them; float32 is inexact
                halves = (value // _HALF, value % _HALF)
                halves = (of_all(tf.cast(half, tf.float32)) for half in halves)
                high, low = (tf.cast(half, value.dtype) for half in halves)
                return high * _HALF + low
            shape = [count, *([1] * value.shape.rank)]
            mine = tf.reshape(tf.one_hot(place, count), shape)
            spread = tf.where(mine > 0, tf.cast(value, tf.float32), 0.0)
            shape = tf.concat([[count * size], tf.shape(value)[1:]], axis=0)
            whole = tf.reshape(spread, shape)
            return sum_over_replicas(whole)

        batch = {name: of_all(rows[name]) for name in self.objective.compared}
        upstream, sums = self._compiled_comparison(of_all(outputs), batch, denominators)
        return part_of(upstream, place * size, size), sums

    def _outputs(self, batch, seed):
        with compiled_activations(self.options.xla_beside_products):
            return self.objective.outputs(self.model, batch, True, seed)

    def _compare(self, outputs, batch, denominators):
        """Computes the scaled gradient for the outputs of all rows, and the metrics."""
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            losses, metrics = self.objective.sums(outputs, batch)
            loss = self._scaled_loss(losses, denominators)
        counts = self.objective.denominators(batch)
        sums = reported_sums(self.objective, losses, metrics, counts)
        return tape.gradient(loss, outputs), sums

    def _part_gradients(self, batch, seed, upstream):
        with tf.GradientTape() as tape:
            outputs = self._outputs(batch, seed)
        return self._filled(tape.gradient(outputs, self._weights(), upstream))
