"""One step of one replica: forward, backward, reduce, clip, update."""

import dataclasses

import tensorflow as tf
from keras import ops

VARIABLE_STATISTICS = ("gradient_norm", "weight_norm", "trust_ratio")
"""Of each variable: its gradient's norm before clipping, its own, LAMB's factor."""

_SUM = tf.distribute.ReduceOp.SUM


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """How a step is computed."""

    gradient_accumulation_steps: int = 1
    """Micro-batches that a replica's rows are split into."""
    clip_norm: float = 1.0
    """Largest global norm of the gradients; official `optimization.py`."""
    use_xla: bool = True
    """Compile forward and backward, and the update, with XLA."""
    seed: int = 12345
    """Seed of dropout."""


class ReplicaStep:
    """Callable inside `strategy.run`: trains on this replica's rows of a batch.

    Keras' own path is not used: it clips each replica's gradients before they are
    summed, cannot accumulate and switches XLA off under tf.distribute. Here the sums
    of all replicas and micro-batches are divided by the global weights, clipped once
    and given to the optimizer's formula; a step whose gradients are not finite
    changes nothing and is counted.

    Args:
        model: a built Keras model.
        objective: an `Objective`.
        optimizer: a built `MomentsOptimizer`.
        options: `StepOptions`.
    """

    def __init__(self, model, objective, optimizer, options):
        self.model = model
        self.objective = objective
        self.optimizer = optimizer
        self.options = options
        self.metric_names = (
            *(f"{term}_loss" for term in objective.loss_terms),
            *objective.metric_names,
            "gradient_norm",
            "skipped",
        )
        self._compiled_gradients = self._compile(self._gradients)
        self._compiled_update = self._compile(self._updated_values)
        self._compiled_statistics = self._compile(self._statistics)

    def _compile(self, function):
        return tf.function(function, jit_compile=self.options.use_xla or None)

    def __call__(self, batch, with_statistics=False, parts=None):
        """Trains on a global batch, of which this replica takes its own rows.

        Args:
            batch: dict of tensors `[global batch, ...]`.
            with_statistics: also compute `VARIABLE_STATISTICS`; a Python bool.
            parts: int, micro-batches that the rows are split into; by default those
                of the options.

        Returns:
            Float32 `[metrics, 2]`: sum and weight of each of `metric_names`, over
            all replicas. With statistics, also float32 `[statistics, variables]`.
        """
        context = tf.distribute.get_replica_context()
        step = self.optimizer.iterations.value
        rows = replica_rows(batch, context)
        denominators = context.all_reduce(_SUM, self.objective.denominators(rows))
        seed = tf.random.experimental.stateless_fold_in([self.options.seed, 0], step)
        seed = tf.random.experimental.stateless_fold_in(
            seed, tf.cast(context.replica_id_in_sync_group, tf.int64)
        )
        gradients, metrics = self._accumulated(
            rows,
            denominators,
            seed,
            parts or self.options.gradient_accumulation_steps,
        )
        *gradients, metrics = context.all_reduce(_SUM, [*gradients, metrics])
        state = [variable.value for variable in self._state()]
        values, norm, finite = self._compiled_update(
            gradients, state, self.optimizer.learning_rate, step
        )
        if with_statistics:
            statistics = self._compiled_statistics(gradients, state, norm, step)
        context.merge_call(self._assign, args=(values,))
        skipped = 1.0 - tf.cast(finite, tf.float32)
        own = tf.stack([tf.stack([norm * (1.0 - skipped), 1.0]), [skipped, 1.0]])
        own = tf.where(tf.math.is_finite(own), own, 0.0)
        sums = tf.concat([metrics, own], axis=0)
        return (sums, statistics) if with_statistics else sums

    def _accumulated(self, rows, denominators, seed, count):
        """Sums gradients and metrics over `count` micro-batches."""
        if count == 1:
            return self._compiled_gradients(rows, denominators, seed)
        size = next(iter(rows.values())).shape[0] // count
        gradients = [tf.zeros(v.shape) for v in self.model.trainable_variables]
        metrics = tf.zeros([len(self.metric_names) - 2, 2])
        for i in tf.range(count):
            micro_batch = {k: _slice(v, i * size, size) for k, v in rows.items()}
            micro_seed = tf.random.experimental.stateless_fold_in(seed, i)
            more, more_metrics = self._compiled_gradients(
                micro_batch, denominators, micro_seed
            )
            gradients = [a + b for a, b in zip(gradients, more, strict=True)]
            metrics += more_metrics
        return gradients, metrics

    def _gradients(self, batch, denominators, seed):
        """Gradients of the global loss that these rows contribute, and metrics."""
        objective = self.objective
        variables = [v.value for v in self.model.trainable_variables]
        with tf.GradientTape() as tape:
            losses, metrics = objective(
                self.model, batch, training=True, dropout_seed=seed
            )
            loss = tf.add_n(
                [
                    losses[term]
                    / (denominators[term] + objective.epsilons.get(term, 0))
                    for term in objective.loss_terms
                ]
            )
        gradients = tape.gradient(
            loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        sums = reported_sums(objective, losses, metrics, objective.denominators(batch))
        return [tf.convert_to_tensor(g) for g in gradients], sums

    def _state(self):
        """The weights, then their first and second moments."""
        optimizer = self.optimizer
        weights = self.model.trainable_variables
        return [*weights, *optimizer.first_moments, *optimizer.second_moments]

    def _updated_values(self, gradients, state, learning_rate, step):
        """Clips, and returns the new values of `_state`; the old ones if not finite."""
        norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(norm)
        updated = [
            self.optimizer.new_values(*slot, learning_rate, step)
            for slot in self._slots(gradients, state, norm)
        ]
        new_state = [values[part] for part in range(3) for values in updated]
        values = [
            ops.where(finite, new, old)
            for new, old in zip(new_state, state, strict=True)
        ]
        return values, norm, finite

    def _slots(self, gradients, state, norm):
        """Yields index, clipped gradient, weight and moments of each variable."""
        scale = self.options.clip_norm / tf.maximum(norm, self.options.clip_norm)
        count = len(gradients)
        slots = zip(
            gradients,
            state[:count],
            state[count : 2 * count],
            state[2 * count :],
            strict=True,
        )
        for i, (gradient, weight, m, v) in enumerate(slots):
            yield i, gradient * scale, weight, m, v

    def _statistics(self, gradients, state, norm, step):
        """`VARIABLE_STATISTICS` of each trainable variable before the step."""
        weights = state[: len(gradients)]
        ratios = [
            self.optimizer.trust_ratio(*slot, step)
            for slot in self._slots(gradients, state, norm)
        ]
        rows = ([tf.norm(g) for g in gradients], [tf.norm(w) for w in weights], ratios)
        return tf.stack([tf.stack(row) for row in rows])  # [statistics, variables]

    def _assign(self, strategy, values):
        """In cross-replica context: every copy of a variable takes its new value."""
        for variable, value in zip(self._state(), values, strict=True):
            strategy.extended.update(
                variable.value, lambda copy, new: copy.assign(new), args=(value,)
            )
        strategy.extended.update(
            self.optimizer.iterations.value, lambda copy: copy.assign_add(1)
        )


def replica_rows(batch, context):
    """This replica's rows of a global batch, with a static shape."""
    replicas = context.num_replicas_in_sync
    if replicas == 1:
        return batch
    size = next(iter(batch.values())).shape[0] // replicas
    start = context.replica_id_in_sync_group * size
    return {name: _slice(value, start, size) for name, value in batch.items()}


def _slice(value, start, size):
    begin = tf.concat([[start], tf.zeros([value.shape.rank - 1], tf.int32)], axis=0)
    return tf.slice(value, begin, [size, *([-1] * (value.shape.rank - 1))])


def reported_sums(objective, losses, metrics, denominators):
    """Stacks `(sum, weight)` of the losses and metrics into float32 `[metrics, 2]`."""
    pairs = [(losses[term], denominators[term]) for term in objective.loss_terms]
    pairs += [metrics[name] for name in objective.metric_names]
    return tf.stack([tf.stack(pair) for pair in pairs])
