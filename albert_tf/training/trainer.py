"""The training loop of every task and every device."""

import dataclasses
import os
import time

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.training.checkpointing import Checkpointing
from albert_tf.training.evaluation import Evaluator
from albert_tf.training.evaluation import average
from albert_tf.training.interruption import Interruption
from albert_tf.training.replica_step import ReplicaStep
from albert_tf.training.replica_step import StepOptions
from albert_tf.training.reporting import ReportOptions
from albert_tf.training.reporting import RunReporter
from albert_tf.training.stage import Stage


@dataclasses.dataclass(frozen=True)
class TrainerOptions:
    """How long a run lasts and what it does on the way."""

    output_dir: str
    """Folder of checkpoints, history and TensorBoard summaries."""
    num_train_steps: int
    """Optimizer steps in all."""
    steps_per_loop: int = 100
    """Steps between two looks at the run: progress, summaries, signals."""
    save_checkpoints_steps: int = 5000
    """Steps between two checkpoints."""
    keep_checkpoint_max: int = 5
    """Checkpoints to keep."""
    eval_steps: int = 0
    """Steps between two held-out evaluations; 0 for the end only."""
    eval_at_start: bool = True
    """Whether to evaluate before the first step, too."""
    max_bad_steps: int = 20
    """Loss or gradients not finite in so many steps of a loop: training stops."""
    step: StepOptions = StepOptions()
    """How a step is computed."""
    report: ReportOptions = ReportOptions()
    """What is shown and recorded."""


class Trainer:
    """Trains a model on batches until `num_train_steps`, however often interrupted.

    Args:
        model: a Keras model built in `strategy.scope()`.
        objective: an `Objective`.
        optimizer: LAMB or AdamW, made in `strategy.scope()`.
        strategy: a `tf.distribute.Strategy`.
        options: `TrainerOptions`.
    """

    def __init__(self, model, objective, optimizer, strategy, options):
        with strategy.scope():
            optimizer.build(model.trainable_variables)
            self._train_seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self.model = model
        self.objective = objective
        self.optimizer = optimizer
        self.strategy = strategy
        self.options = options
        self.evaluator = Evaluator(model, objective, strategy, options.step.use_xla)
        self._replica_step = ReplicaStep(model, objective, optimizer, options.step)
        self._steps = tf.function(self._run_steps)
        self._observed_step = tf.function(self._run_observed_step)
        self.reporter = RunReporter(
            options.output_dir,
            options.num_train_steps,
            model,
            optimizer,
            options.report,
        )

    @property
    def step(self):
        """Optimizer steps done."""
        return int(self.optimizer.iterations.numpy())

    @property
    def history(self):
        """Held-out evaluations so far: dicts with `step` and `train_seconds`."""
        return self.reporter.evaluations

    def train(self, dataset, eval_dataset=None):
        """Trains, from the newest checkpoint in `output_dir` if there is one.

        Args:
            dataset: endless batches of the global batch size, with a checkpointable
                iterator; every worker reads the same batches. Or a list of `Stage`s,
                of which the last ends at `num_train_steps`.
            eval_dataset: held-out batches, or None.

        Raises:
            UserError: the batch does not divide by the replicas and micro-batches, a
                checkpoint does not fit, or training diverged.
            SystemExit: the run was asked to stop and has saved its state.
        """
        stages = self._stages(dataset)
        iterators = [iter(stage.dataset) for stage in stages]
        checkpointing = Checkpointing(
            os.path.join(self.options.output_dir, "checkpoints"),
            self.options.keep_checkpoint_max,
            model=self.model,
            optimizer=self.optimizer,
            # All of them: a run that goes on finds its place in whichever it is.
            iterators=iterators,
            train_seconds=self._train_seconds,
        )
        restored = checkpointing.restore()
        if restored:
            logging.info("Continuing at step %d from %s", self.step, restored)
        with Interruption() as interruption, self.reporter.reporting(self.step):
            if self.options.eval_at_start:
                self._evaluate(eval_dataset)
            while self.step < self.options.num_train_steps:
                self._loop(stages, iterators)
                if self._due(self.options.eval_steps):
                    self._evaluate(eval_dataset)
                if self._due(self.options.save_checkpoints_steps):
                    checkpointing.save(self.step)
                if interruption.signal:
                    checkpointing.save(self.step)
                    raise SystemExit(128 + interruption.signal)
        self._evaluate(eval_dataset)
        checkpointing.save(self.step)
        self.reporter.finish()

    def seconds_per_step(self, stage, steps):
        """Times single steps of a `Stage`, after one that compiles; the best of them.

        They train the model, and nothing is written.
        """
        self._check_batch(stage)
        iterator = iter(stage.dataset)
        parts = stage.gradient_accumulation_steps
        times = []
        for _ in range(1 + steps):
            started = time.monotonic()
            totals, _ = self._steps(iterator, tf.constant(1), parts)
            totals.numpy()
            times.append(time.monotonic() - started)
        return min(times[1:])

    def _stages(self, dataset):
        stages = dataset
        if isinstance(dataset, tf.data.Dataset):
            parts = self.options.step.gradient_accumulation_steps
            stages = [Stage(dataset, self.options.num_train_steps, parts)]
        for stage in stages:
            self._check_batch(stage)
        return stages

    def _check_batch(self, stage):
        rows, parts = stage.batch_size, stage.gradient_accumulation_steps
        replicas = self.strategy.num_replicas_in_sync
        if rows is None or rows % (replicas * parts):
            raise UserError(
                f"The batch size {rows} does not divide into {replicas * parts} equal "
                f"parts ({replicas} replicas x {parts} accumulation steps); choose a "
                f"multiple of {replicas * parts}."
            )

    def _due(self, interval):
        return interval > 0 and self.step % interval == 0

    def _loop(self, stages, iterators):
        """Runs steps up to the next multiple of an interval, and reports them."""
        start, reporter = self.step, self.reporter
        number = sum(stage.last_step <= start for stage in stages)
        stage, iterator = stages[number], iterators[number]
        count = self._loop_end(start, stage.last_step) - start
        parts = stage.gradient_accumulation_steps
        reporter.before_loop(start)
        started = time.monotonic()
        if reporter.wants_statistics(start):
            totals, sizes, statistics = self._observed_step(iterator, parts)
            reporter.after_statistics(self.step, statistics.numpy())
        else:
            totals, sizes = self._steps(iterator, tf.constant(count), parts)
        totals = totals.numpy()
        seconds = time.monotonic() - started
        self._train_seconds.assign_add(seconds)
        results = average(self._replica_step.metric_names, totals, self.objective)
        self._check_finite(results["skipped"] * count, start)
        reporter.after_loop(self.step, count, seconds, results, sizes.numpy())

    def _loop_end(self, start, last_step):
        """The next step at which something is due, `last_step` at the latest."""
        options = self.options
        intervals = (
            options.steps_per_loop,
            options.eval_steps,
            options.save_checkpoints_steps,
        )
        ends = [
            start - start % interval + interval for interval in intervals if interval
        ]
        return min(*ends, last_step, self.reporter.next_stop(start))

    def _check_finite(self, bad_steps, start):
        if round(bad_steps) >= self.options.max_bad_steps:
            raise UserError(
                f"Loss or gradients were not finite in {round(bad_steps)} of the steps "
                f"{start} to {self.step}; lower --learning_rate or lengthen the "
                "warm-up, and start again: the last checkpoint is kept."
            )

    def _run_steps(self, iterator, count, parts):
        """Runs `count` steps on the devices.

        Args:
            iterator: gives the batches.
            count: int32 scalar.
            parts: int, micro-batches of a batch.

        Returns:
            Sums and weights of the metrics, float32 `[metrics, 2]`; rows and tokens
            of the batches, int64 `[2]`.
        """
        totals = tf.zeros([len(self._replica_step.metric_names), 2])
        sizes = tf.zeros([2], tf.int64)
        for _ in tf.range(count):
            batch = next(iterator)
            sums = self.strategy.run(self._replica_step, args=(batch, False, parts))
            totals += self.strategy.experimental_local_results(sums)[0]
            sizes += _sizes(batch)
        return totals, sizes

    def _run_observed_step(self, iterator, parts):
        """As `_run_steps`, one step; also returns its `VARIABLE_STATISTICS`."""
        batch = next(iterator)
        sums, statistics = self.strategy.run(
            self._replica_step, args=(batch, True, parts)
        )
        local = self.strategy.experimental_local_results
        return local(sums)[0], _sizes(batch), local(statistics)[0]

    def _evaluate(self, dataset):
        if dataset is None or self.reporter.has_evaluation(self.step):
            return
        results = self.evaluator.evaluate(dataset)
        seconds = float(self._train_seconds.numpy())
        self.reporter.after_evaluation(self.step, seconds, results)


def _sizes(batch):
    """Rows and tokens of a batch, padding included; int64 `[2]`."""
    rows, tokens = tf.unstack(tf.shape(batch["input_ids"], tf.int64))
    return tf.stack([rows, rows * tokens])
