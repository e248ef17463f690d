"""One step of one replica: forward, backward, reduce, clip, update."""

import dataclasses

import tensorflow as tf
from keras import ops

from albert_tf.engine.loss_scaling import StepGuard

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
    max_bad_steps: int = 20
    """So many steps in a row that are not finite end the run."""


class TrainStep:
    """Callable inside `strategy.run`: trains on this replica's rows of a batch.

    Keras' own path is not used: it clips each replica's gradients before they are
    summed, cannot accumulate and switches XLA off under tf.distribute. Here the sums
    of all replicas and micro-batches are divided by the global weights, clipped once
    and given to the optimizer's formula; a step whose loss or gradients are not
    finite changes nothing and is counted. A model that computes in float16 gets a
    dynamic loss scale.

    Made in `strategy.scope()`.

    Args:
        model: a built Keras model.
        objective: an `Objective`.
        optimizer: a built `MomentsOptimizer`.
        options: `StepOptions`.

    Attributes:
        guard: the `StepGuard`, state of the run beside model and optimizer.
    """

    def __init__(self, model, objective, optimizer, options):
        self.model = model
        self.objective = objective
        self.optimizer = optimizer
        self.options = options
        in_float16 = model.compute_dtype == "float16"
        self.guard = StepGuard(options.max_bad_steps, in_float16)
        self._objective_metrics = (
            *(f"{term}_loss" for term in objective.loss_terms),
            *objective.metric_names,
        )
        self.metric_names = (
            *self._objective_metrics,
            "gradient_norm",
            *self.guard.metric_names,
        )
        self._compiled_gradients = self._compile(self._gradients)
        self._compiled_update = self._compile(self._updated_values)
        self._compiled_statistics = self._compile(self._statistics)

    def _compile(self, function):
        # Without autograph, whose conversion takes a second: no Python control flow
        # here depends on a tensor.
        use_xla = self.options.use_xla or None
        return tf.function(function, jit_compile=use_xla, autograph=False)

    def __call__(self, rows, with_statistics=False, parts=None):
        """Trains on this replica's rows of a global batch.

        Args:
            rows: dict of tensors `[rows, ...]`, as `replica_rows` deals them out.
            with_statistics: also compute `VARIABLE_STATISTICS`; a Python bool.
            parts: int, micro-batches that the rows are split into; by default those
                of the options.

        Returns:
            Float32 `[metrics, 2]`: sum and weight of each of `metric_names`, over
            all replicas. With statistics, also float32 `[statistics, variables]`.
        """
        context = tf.distribute.get_replica_context()
        step = self.optimizer.iterations.value
        denominators = context.all_reduce(_SUM, self.objective.denominators(rows))
        seed = tf.random.experimental.stateless_fold_in([self.options.seed, 0], step)
        seed = tf.random.experimental.stateless_fold_in(
            seed, tf.cast(context.replica_id_in_sync_group, tf.int32)
        )
        gradients, sums = self._accumulated(
            rows,
            denominators,
            seed,
            parts or self.options.gradient_accumulation_steps,
        )
        *gradients, sums = context.all_reduce(_SUM, [*gradients, sums])
        state = [tf.convert_to_tensor(variable) for variable in self._state()]
        losses = sums[: len(self.objective.loss_terms), 0]
        learning_rate = tf.convert_to_tensor(self.optimizer.learning_rate)
        values, own = self._compiled_update(
            gradients, losses, state, learning_rate, step
        )
        if with_statistics:
            statistics = self._compiled_statistics(gradients, state, step)
        context.merge_call(self._assign, args=(values,))
        own = tf.stack([own, tf.ones_like(own)], axis=1)
        sums = tf.concat([sums, own], axis=0)
        return (sums, statistics) if with_statistics else sums

    def _accumulated(self, rows, denominators, seed, count):
        """Sums gradients and metrics over `count` micro-batches."""
        if count == 1:
            return self._compiled_gradients(rows, denominators, seed)
        size = next(iter(rows.values())).shape[0] // count
        gradients = [tf.zeros(v.shape) for v in self.model.trainable_variables]
        sums = tf.zeros([len(self._objective_metrics), 2])
        for i in tf.range(count):
            micro_batch = {k: _slice(v, i * size, size) for k, v in rows.items()}
            micro_seed = tf.random.experimental.stateless_fold_in(seed, i)
            more, more_sums = self._compiled_gradients(
                micro_batch, denominators, micro_seed
            )
            gradients = [a + b for a, b in zip(gradients, more, strict=True)]
            sums += more_sums
        return gradients, sums

    def _gradients(self, batch, denominators, seed):
        """Scaled gradients of the global loss that these rows contribute; metrics."""
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
            loss *= self.guard.loss_scale
        gradients = tape.gradient(
            loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        sums = reported_sums(objective, losses, metrics, objective.denominators(batch))
        return [tf.convert_to_tensor(g) for g in gradients], sums

    def _state(self):
        """The weights, their first and second moments, and the guard's state."""
        optimizer = self.optimizer
        moments = [*optimizer.first_moments, *optimizer.second_moments]
        trained = [*self.model.trainable_variables, *moments]
        return [*(variable.value for variable in trained), *self.guard.state]

    def _updated_values(self, gradients, losses, state, learning_rate, step):
        """Clips; returns new values of `_state` and of the metrics that are not sums.

        The gradients and the losses are those of the whole global batch.
        """
        count = len(gradients)
        norm = tf.linalg.global_norm(gradients) / self.guard.loss_scale
        counts, guard_state, metrics = self.guard.new_values(
            state[3 * count :],
            tf.reduce_all(tf.math.is_finite(losses)),
            tf.math.is_finite(norm),
            step,
        )
        updated = [
            self.optimizer.new_values(*slot, learning_rate, step)
            for slot in self._slots(gradients, state)
        ]
        new_state = [values[part] for part in range(3) for values in updated]
        values = [
            ops.where(counts, new, old)
            for new, old in zip(new_state, state[: 3 * count], strict=True)
        ]
        shown_norm = tf.where(tf.math.is_finite(norm), norm, 0.0)
        return [*values, *guard_state], tf.concat([[shown_norm], metrics], axis=0)

    def _slots(self, gradients, state):
        """Yields index, clipped gradient, weight and moments of each variable."""
        loss_scale = self.guard.loss_scale
        norm = tf.linalg.global_norm(gradients) / loss_scale
        factor = self.options.clip_norm / tf.maximum(norm, self.options.clip_norm)
        factor /= loss_scale
        count = len(gradients)
        slots = zip(
            gradients,
            state[:count],
            state[count : 2 * count],
            state[2 * count : 3 * count],
            strict=True,
        )
        for i, (gradient, weight, m, v) in enumerate(slots):
            yield i, gradient * factor, weight, m, v

    def _statistics(self, gradients, state, step):
        """`VARIABLE_STATISTICS` of each trainable variable before the step."""
        weights = state[: len(gradients)]
        ratios = [
            self.optimizer.trust_ratio(*slot, step)
            for slot in self._slots(gradients, state)
        ]
        norms = [tf.norm(g) / self.guard.loss_scale for g in gradients]
        rows = (norms, [tf.norm(w) for w in weights], ratios)
        return tf.stack([tf.stack(row) for row in rows])  # [statistics, variables]

    def _assign(self, strategy, values):
        """In cross-replica context: every copy of a variable takes its new value."""
        for variable, value in zip(self._state(), values, strict=True):
            strategy.extended.update(
                variable, lambda copy, new: copy.assign(new), args=(value,)
            )
        strategy.extended.update(
            self.optimizer.iterations.value, lambda copy: copy.assign_add(1)
        )


def replica_rows(strategy, batch):
    """Deals the rows of a global batch out to the replicas, with static shapes.

    An ordinary iterator is read on the host and sliced there: unlike a distributed
    one, it can be saved, and each device is sent its own rows only.

    Args:
        strategy: a `tf.distribute.Strategy`.
        batch: dict of tensors `[global batch, ...]`.

    Returns:
        What `strategy.run` gives to each replica: dicts of `[rows, ...]`.
    """
    replicas = strategy.num_replicas_in_sync
    if replicas == 1:
        return batch
    size = next(iter(batch.values())).shape[0] // replicas

    def rows_of(context):
        start = context.replica_id_in_sync_group * size
        return {name: value[start : start + size] for name, value in batch.items()}

    return strategy.experimental_distribute_values_from_function(rows_of)


def _slice(value, start, size):
    begin = tf.concat([[start], tf.zeros([value.shape.rank - 1], tf.int32)], axis=0)
    return tf.slice(value, begin, [size, *([-1] * (value.shape.rank - 1))])


def reported_sums(objective, losses, metrics, denominators):
    """Stacks `(sum, weight)` of the losses and metrics into float32 `[metrics, 2]`."""
    pairs = [(losses[term], denominators[term]) for term in objective.loss_terms]
    pairs += [metrics[name] for name in objective.metric_names]
    return tf.stack([tf.stack(pair) for pair in pairs])
