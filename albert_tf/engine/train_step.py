"""One step of one replica: gradients, reduce, clip, update, guard."""

import tensorflow as tf

from albert_tf.engine.compilation import compiled
from albert_tf.engine.step_guard import StepGuard
from albert_tf.engine.strategies import sum_over_replicas
from albert_tf.layers.activations import compiled_activations
from albert_tf.objectives.base import reported_sums

VARIABLE_STATISTICS = ("gradient_norm", "weight_norm", "trust_ratio")
"""Statistics of a variable: unclipped gradient norm, weight norm, LAMB's factor."""


class TrainStep:
    """Trains on a replica's rows of a batch; called inside `strategy.run`.

    It replaces Keras' own training step, which clips each replica's gradients before
    summing them, cannot accumulate and turns XLA off under tf.distribute. This class
    divides the sums over all replicas and micro-batches by the global weights, clips
    once and applies the optimizer's formula; a step with a non-finite loss or gradient
    changes nothing and is counted. A float16 model gets a dynamic loss scale.

    It must be made in `strategy.scope()`.

    Args:
        model: a built Keras model.
        objective: an `Objective`.
        optimizer: a built `MomentsOptimizer`.
        options: `TrainerOptions`.

    Attributes:
        guard: the `StepGuard`; checkpoints save its state with model and optimizer.
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
        use_xla, beside_products = options.use_xla, options.xla_beside_products
        self._compiled_gradients = compiled(self._micro_batch_gradients, use_xla)
        self._is_reached = None  # one per variable, once gradients are traced
        self._compiled_new_state = compiled(self._new_state, use_xla or beside_products)
        self._compiled_statistics = compiled(self._statistics, use_xla)

    def __call__(self, rows, carried=None, micro_batches=1, with_statistics=False):
        """Trains on this replica's rows of a global batch.

        Args:
            rows: dict of tensors `[rows, ...]`, from `replica_rows`.
            carried: the rows' state after the previous step, `{name: [rows, ...]}`.
            micro_batches: int, the number of parts to split the rows into.
            with_statistics: also compute `VARIABLE_STATISTICS`; a Python bool.

        Returns:
            Float32 `[metrics, 2]`: sum and weight of each of `metric_names`, over all
            replicas. With statistics, also float32 `[statistics, variables]`. With
            `carried`, also the new state; a step that does not count leaves the state
            unchanged.
        """
        replica = tf.distribute.get_replica_context()
        step = self.optimizer.iterations.value
        before = self.objective.resumed(carried, rows) if carried else {}
        rows = {**rows, **before}
        denominators = sum_over_replicas(self.objective.denominators(rows))
        seed = self._replica_seed(replica, step)
        gradients, sums, after = self._gradients(
            rows, denominators, seed, micro_batches, tuple(before)
        )
        # In one collective operation.
        *gradients, sums = sum_over_replicas([*gradients, sums])
        state = tf.nest.map_structure(tf.convert_to_tensor, self._variables())
        state["carried"] = before
        losses = sums[: len(self.objective.loss_terms), 0]
        learning_rate = tf.convert_to_tensor(self.optimizer.learning_rate)
        new_state, own_metrics = self._compiled_new_state(
            gradients, losses, state, learning_rate, step, after
        )
        if with_statistics:
            statistics = self._compiled_statistics(gradients, state, step)
        after = new_state.pop("carried")
        replica.merge_call(self._assign, args=(new_state,))
        own = tf.stack([own_metrics, tf.ones_like(own_metrics)], axis=1)
        sums = tf.concat([sums, own], axis=0)
        results = (sums, statistics) if with_statistics else sums
        return (results, after) if carried else results

    def _replica_seed(self, replica, step):
        """Returns a dropout seed, int32 `[2]`, unique to each step and replica."""
        seed = tf.random.experimental.stateless_fold_in([self.options.seed, 0], step)
        replica_id = tf.cast(replica.replica_id_in_sync_group, tf.int32)
        return tf.random.experimental.stateless_fold_in(seed, replica_id)

    def _gradients(self, rows, denominators, seed, micro_batches, carried):
        """Sums gradients and metrics over the micro-batches of a replica.

        The third result holds the new values of `carried`, the rows' state.
        """
        if micro_batches == 1:
            return self._compiled_gradients(rows, denominators, seed)
        size = next(iter(rows.values())).shape[0] // micro_batches
        gradients = [tf.zeros(v.shape) for v in self.model.trainable_variables]
        sums = tf.zeros([len(self._objective_metrics), 2])
        parts = {name: tf.TensorArray(tf.float32, micro_batches) for name in carried}

        def add_micro_batch(i, gradients, sums, parts):
            micro_batch = {k: part_of(v, i * size, size) for k, v in rows.items()}
            micro_seed = tf.random.experimental.stateless_fold_in(seed, i)
            more, more_sums, after = self._compiled_gradients(
                micro_batch, denominators, micro_seed
            )
            gradients = [a + b for a, b in zip(gradients, more, strict=True)]
            sums += more_sums
            parts = {name: part.write(i, after[name]) for name, part in parts.items()}
            return i + 1, gradients, sums, parts

        _, gradients, sums, parts = tf.while_loop(
            lambda i, *_: i < micro_batches,
            add_micro_batch,
            (0, gradients, sums, parts),
        )
        after = {n: tf.reshape(p.stack(), rows[n].shape) for n, p in parts.items()}
        return gradients, sums, after

    def _micro_batch_gradients(self, batch, denominators, seed):
        """Computes scaled gradients of the global loss, metrics and the rows' state."""
        objective = self.objective
        alone = self.options.xla_beside_products
        with compiled_activations(alone), tf.GradientTape() as tape:
            losses, metrics, carried = objective.call_carrying(
                self.model, batch, training=True, dropout_seed=seed
            )
            loss = self._scaled_loss(losses, denominators)
        gradients = self._filled(tape.gradient(loss, self._weights()))
        sums = reported_sums(objective, losses, metrics, objective.denominators(batch))
        return gradients, sums, carried

    def _weights(self):
        return [v.value for v in self.model.trainable_variables]

    def _scaled_loss(self, losses, denominators):
        """Adds the loss terms, each as a share of its mean over the global batch."""
        objective = self.objective
        terms = [
            losses[term]
            * objective.scales.get(term, 1.0)
            / (denominators[term] + objective.epsilons.get(term, 0))
            for term in objective.loss_terms
        ]
        return tf.add_n(terms) * self.guard.loss_scale

    def _filled(self, found):
        """Replaces None, the gradient of a weight that no loss reaches, by zeros."""
        self._is_reached = [gradient is not None for gradient in found]
        return [
            tf.zeros(v.shape) if g is None else tf.convert_to_tensor(g)
            for g, v in zip(found, self._weights(), strict=True)
        ]

    def _variables(self):
        """Returns the variables that a step changes, except the step count, by name."""
        return {
            "weights": self._weights(),
            "moments": [
                {name: variable.value for name, variable in own.items()}
                for own in self.optimizer.moments
            ],
            "guard": self.guard.state,
        }

    def _new_state(self, gradients, losses, state, learning_rate, step, carried):
        """Computes new values of `_variables`, and the metrics that are not sums.

        Gradients and losses are the global batch's. The new state includes the carried
        state.
        """
        clipped, norm = self._clip(gradients)
        updated = self._update(clipped, state, learning_rate, step)
        updated["carried"] = carried
        new_state, metrics = self._guard(updated, state, losses, norm, step)
        shown_norm = tf.where(tf.math.is_finite(norm), norm, 0.0)
        return new_state, tf.concat([[shown_norm], metrics], axis=0)

    def _clip(self, gradients):
        """Unscales and clips gradients; also returns their norm before clipping."""
        loss_scale = self.guard.loss_scale
        norm = tf.linalg.global_norm(gradients) / loss_scale
        factor = self.options.clip_norm / tf.maximum(norm, self.options.clip_norm)
        factor /= loss_scale
        return [gradient * factor for gradient in gradients], norm

    def _update(self, gradients, state, learning_rate, step):
        """Computes the optimizer's new weights and moments.

        A weight that no loss reaches, such as the pooler in tagging, stays as it is:
        decay alone would shrink it (`apply_gradients` of official `optimization.py`).
        """
        before = zip(gradients, state["weights"], state["moments"], strict=True)
        updated = [
            self.optimizer.new_values(i, *slot, learning_rate, step)
            if self._is_reached[i]
            else slot[1:]
            for i, slot in enumerate(before)
        ]
        weights, moments = zip(*updated, strict=True)
        return {"weights": [*weights], "moments": [*moments]}

    def _guard(self, updated, state, losses, norm, step):
        """Restores weights and moments if the step does not count."""
        counts, guard_state, metrics = self.guard.judge(
            state["guard"],
            tf.reduce_all(tf.math.is_finite(losses)),
            tf.math.is_finite(norm),
            step,
        )
        kept = tf.nest.map_structure(
            lambda new, old: tf.where(counts, new, old),
            updated,
            {name: state[name] for name in updated},
        )
        return {**kept, "guard": guard_state}, metrics

    def _statistics(self, gradients, state, step):
        """Computes `VARIABLE_STATISTICS` of each trainable variable before the step."""
        clipped, _ = self._clip(gradients)
        weights = state["weights"]
        ratios = [
            self.optimizer.applied_trust_ratio(
                i, clipped[i], weight, state["moments"][i], step
            )
            for i, weight in enumerate(weights)
        ]
        norms = [tf.norm(g) / self.guard.loss_scale for g in gradients]
        rows = (norms, [tf.norm(w) for w in weights], ratios)
        return tf.stack([tf.stack(row) for row in rows])  # [statistics, variables]

    def _assign(self, strategy, new_state):
        """Assigns new values to all copies of variables, in cross-replica context."""
        variables = self._variables()
        tf.nest.assert_same_structure(variables, new_state)
        pairs = zip(tf.nest.flatten(variables), tf.nest.flatten(new_state), strict=True)
        for variable, value in pairs:
            strategy.extended.update(
                variable, lambda copy, new: copy.assign(new), args=(value,)
            )
        strategy.extended.update(
            self.optimizer.iterations.value, lambda copy: copy.assign_add(1)
        )


def part_of(value, start, size):
    """Returns `size` rows of a tensor `[rows, ...]`, from `start` on."""
    begin = tf.concat([[start], tf.zeros([value.shape.rank - 1], tf.int32)], axis=0)
    return tf.slice(value, begin, [size, *([-1] * (value.shape.rank - 1))])
