"""The loop of training steps on the devices, with state carried between batches."""

import functools

import tensorflow as tf

from albert_tf.engine.strategies import replica_rows


class CarriedState:
    """State that an objective carries between batches, kept on each row's device.

    Args:
        objective: an `Objective`.
        model: the Keras model.
        strategy: the `tf.distribute.Strategy` that distributes the rows.
        rows: int, the size of the global batch.

    Attributes:
        saved: `{name: variable [rows, ...]}` with the state of all processes' devices,
            for checkpoints; empty if nothing is carried.
    """

    def __init__(self, objective, model, strategy, rows):
        first = objective.first_carried(model, rows)
        replicas = strategy.num_replicas_in_sync
        self._strategy = strategy
        self._size = rows // replicas if first else 0
        numbers = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(context.replica_id_in_sync_group)
        )
        numbers = strategy.experimental_local_results(numbers)
        self._replicas = [int(number) for number in numbers]  # of this process
        devices = strategy.extended.worker_devices
        self._own = [
            _variables(first, self._rows(replica), device)
            for replica, device in zip(self._replicas, devices, strict=True)
        ]
        self.saved = self._own[0]
        if replicas > 1:
            self.saved = _variables(first, slice(None), "/cpu:0")

    def run(self, function, rows):
        """Runs `function` on all replicas, and keeps the state that it returns.

        Args:
            function: takes a replica's rows and returns results; if state is carried,
                it also takes the state of these rows and returns the new state.
            rows: the result of `replica_rows`.

        Returns:
            The results of each replica.
        """
        if not self.saved:
            return self._strategy.run(function, args=(rows,))
        own = [{name: v.read_value() for name, v in of.items()} for of in self._own]
        carried = own[0] if len(own) == 1 else self._dealt_out(own)
        results, carried = self._strategy.run(function, args=(rows, carried))
        for name, values in carried.items():
            values = self._strategy.experimental_local_results(values)
            for of_replica, value in zip(self._own, values, strict=True):
                of_replica[name].assign(value)
        return results

    def _dealt_out(self, values):
        """Gives each replica of this process its own value."""
        return self._strategy.experimental_distribute_values_from_function(
            lambda context: values[
                self._replicas.index(context.replica_id_in_sync_group)
            ]
        )

    def collect(self):
        """Copies the state of all devices to `saved`; all processes must call it."""
        for name, variable in self.saved.items():
            if variable is not self._own[0][name]:
                own = [of_replica[name].read_value() for of_replica in self._own]
                with tf.device(variable.device):
                    whole = self._strategy.gather(self._dealt_out(own), axis=0)
                    variable.assign(whole)

    def deal_out(self):
        """Copies `saved` to the devices."""
        for name, variable in self.saved.items():
            for i, own in enumerate(self._own):
                if variable is not own[name]:
                    own[name].assign(variable[self._rows(self._replicas[i])])

    def _rows(self, replica):
        return slice(replica * self._size, (replica + 1) * self._size)


def _variables(values, rows, device):
    with tf.device(device):
        return {
            name: tf.Variable(value[rows], trainable=False)
            for name, value in values.items()
        }


class Stage:
    """A sequence of steps whose batches have one shape.

    A run is one stage or several, one after the other, with one optimizer and one
    schedule over all: short sequences before long ones, small batches before large.

    Args:
        dataset: endless batches of the global batch size, with a checkpointable
            iterator.
        last_step: the step, counted from the start of the run, at which it ends.
        gradient_accumulation_steps: micro-batches that a replica's rows are split into.

    Attributes:
        batch_size: rows of a batch over all replicas.
        iterator, carried: once it has begun, its place in the data and its
            `CarriedState`.
    """

    def __init__(self, dataset, last_step, gradient_accumulation_steps=1):
        self.dataset = dataset
        self.last_step = last_step
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.batch_size = tf.nest.flatten(dataset.element_spec)[0].shape[0]
        self.iterator = self.carried = None

    def begin(self, objective, model, strategy):
        """Begins with the first batch; the arguments are those of `CarriedState`."""
        self.iterator = iter(self.dataset)
        self.carried = CarriedState(objective, model, strategy, self.batch_size)


class DeviceLoop:
    """Takes global batches from an iterator and trains on them.

    Args:
        train_step, strategy: the `TrainStep`, and the strategy it was made for.
    """

    def __init__(self, train_step, strategy):
        self.train_step = train_step
        self.strategy = strategy
        self._steps = tf.function(self._run_steps, autograph=False)
        self._observed_step = tf.function(self._run_observed_step, autograph=False)

    def run(self, stage, count):
        """Runs `count` steps of a `Stage` that has begun.

        Returns:
            Sums and weights of the metrics, float32 `[metrics, 2]`; rows and tokens
            of the batches, padding included, int64 `[2]`.
        """
        totals, sizes = self._steps(*_parts(stage), tf.constant(count))
        return totals.numpy(), sizes.numpy()

    def run_observed(self, stage):
        """Runs one step as `run`; also returns its `VARIABLE_STATISTICS`, float32."""
        results = self._observed_step(*_parts(stage))
        return [result.numpy() for result in results]

    def _run_steps(self, iterator, carried, micro_batches, count):
        step = functools.partial(self.train_step, micro_batches=micro_batches)

        def add_step(done, totals, sizes):
            batch = next(iterator)
            totals += self._first(step, batch, carried)
            return done + 1, totals, sizes + _sizes(batch)

        totals = tf.zeros([len(self.train_step.metric_names), 2])
        sizes = tf.zeros([2], tf.int64)
        _, totals, sizes = tf.while_loop(
            lambda done, *_: done < count, add_step, (0, totals, sizes)
        )
        return totals, sizes

    def _run_observed_step(self, iterator, carried, micro_batches):
        step = functools.partial(
            self.train_step, with_statistics=True, micro_batches=micro_batches
        )
        batch = next(iterator)
        sums, statistics = self._first(step, batch, carried)
        return sums, _sizes(batch), statistics

    def _first(self, step, batch, carried):
        """Returns the results of `step` on the first replica; all have the same."""
        results = carried.run(step, replica_rows(self.strategy, batch))
        first = [
            self.strategy.experimental_local_results(result)[0]
            for result in tf.nest.flatten(results)
        ]
        return first if isinstance(results, tuple) else first[0]


def _parts(stage):
    return stage.iterator, stage.carried, stage.gradient_accumulation_steps


def _sizes(batch):
    ids = batch["input_ids"]
    return tf.stack([tf.shape(ids, tf.int64)[0], tf.size(ids, tf.int64)])
