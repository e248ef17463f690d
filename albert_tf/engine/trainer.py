"""The training loop, the same for all tasks and devices."""

import collections
import contextlib
import dataclasses
import os
import time

import tensorflow as tf
from absl import logging

from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.checkpointing import Checkpointing
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.contrastive_step import step_of
from albert_tf.engine.device_loop import DeviceLoop
from albert_tf.engine.device_loop import Stage
from albert_tf.engine.evaluation import Evaluator
from albert_tf.engine.evaluation import average
from albert_tf.engine.evaluation import evaluations_since_best
from albert_tf.engine.evaluation import out_of_patience
from albert_tf.engine.processes import Interruption
from albert_tf.engine.processes import Workers
from albert_tf.engine.processes import naming_lost_workers
from albert_tf.engine.reporting.reporter import RunReporter
from albert_tf.engine.strategies import is_tpu
from albert_tf.engine.strategies import writes_outputs
from albert_tf.errors import UserError
from albert_tf.io.whole_folder import writing

# The longest time between two looks at signals and intervals.
_LOOP_SECONDS = 10.0


class Trainer:
    """Trains a model until `num_train_steps`, however often it is interrupted.

    Args:
        model: a Keras model built in `strategy.scope()`.
        objective: an `Objective`.
        optimizer: a `MomentsOptimizer`, made in `strategy.scope()`.
        strategy: a `tf.distribute.Strategy`.
        options: `TrainerOptions`.
        evaluator: an object whose `evaluate(eval_dataset)` returns `{metric: value}`;
            by default an `Evaluator` of the objective.
    """

    def __init__(self, model, objective, optimizer, strategy, options, evaluator=None):
        use_xla = options.use_xla and not is_tpu(strategy)
        # The options say what was asked for: rows are made for it on a TPU, too.
        step_options = dataclasses.replace(options, use_xla=use_xla)
        with strategy.scope():
            optimizer.build(model.trainable_variables)
            step = step_of(model, objective, optimizer, step_options)
        # Outside the strategy's scope, because a TPU has no float64.
        self._train_seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self.model = model
        self.objective = objective
        self.optimizer = optimizer
        self.strategy = strategy
        self.options = options
        default = Evaluator(model, objective, strategy, use_xla)
        self.evaluator = evaluator or default
        self.writes_outputs = writes_outputs(strategy)
        self._train_step = step
        self._device_loop = DeviceLoop(step, strategy)
        self._workers = Workers(strategy)
        # Per stage; a guess until its first loop is done.
        self._seconds_per_step = collections.defaultdict(lambda: 1.0)
        self._evaluated = None  # the last evaluation: (step, data set), results
        self.reporter = RunReporter(model, optimizer, options, self.writes_outputs)

    @property
    def step(self):
        """Optimizer steps done."""
        return int(self.optimizer.iterations.numpy())

    @property
    def history(self):
        """Held-out evaluations so far: dicts with `step` and `train_seconds`."""
        return self.reporter.history.evaluations

    @naming_lost_workers()
    def train(self, dataset, eval_dataset=None, save_best=None):
        """Trains, from the newest checkpoint in `output_dir` if there is one.

        Args:
            dataset: endless batches of the global batch size, with a checkpointable
                iterator; every worker reads the same batches. To accumulate gradients
                or change the batches' shape, a list of `Stage`s, the last of which ends
                at `num_train_steps`.
            eval_dataset: held-out batches, or None.
            save_best: called with (step, held-out metrics) after every evaluation
                that is the best so far by `best_metric`.

        Raises:
            UserError: the batch does not divide by the replicas and micro-batches, a
                checkpoint does not fit, training diverged, another worker ended, or
                another run writes into `output_dir`.
            SystemExit: the run was asked to stop and has saved its state.
        """
        stages = self._stages(dataset)
        with contextlib.ExitStack() as lock:
            if self.writes_outputs:
                lock.enter_context(writing(self.options.output_dir))
            self._train_stages(stages, eval_dataset, save_best)

    def _train_stages(self, stages, eval_dataset, save_best):
        for stage in stages:
            self._begin(stage)
        checkpointing = self._checkpointing(stages)
        # Nobody reads the folder before the one who writes has the lock.
        self._check_same_step()
        with self.reporter.tracking():
            self._run(stages, checkpointing, eval_dataset, save_best)
            self._evaluate(eval_dataset, save_best)
        self.reporter.finish()

    def _run(self, stages, checkpointing, eval_dataset, save_best):
        """Trains up to the last step, with evaluations and checkpoints in between."""
        with (
            checkpointing.told_of_when_stopped(),
            Interruption() as interruption,
            self.reporter.reporting(self.step),
        ):
            if self.options.eval_at_start and self.step == 0:
                self._evaluate(eval_dataset, save_best)
            logging.info("Training starts at step %d", self.step)
            while self.step < self.options.num_train_steps:
                if self._out_of_patience():
                    break
                self._loop(stages)
                if self._due(self.options.eval_steps):
                    self._evaluate(eval_dataset, save_best)
                # Weights that may be diverging must not replace sound ones.
                is_sound = not self._train_step.guard.in_bad_run()
                if is_sound and self._due(self.options.save_checkpoints_steps):
                    checkpointing.save(self.step)
                self._leave_if_asked(interruption, checkpointing)
            checkpointing.save(self.step)  # First: an evaluation can be made again.
            self._leave_if_asked(interruption, checkpointing)

    def _leave_if_asked(self, interruption, checkpointing):
        signal = max(self._workers.all_values(interruption.signal or 0))
        if signal:
            checkpointing.save(self.step)
            raise SystemExit(128 + int(signal))

    def _begin(self, stage):
        stage.begin(self.objective, self.model, self.strategy)

    def _checkpointing(self, stages):
        """Returns the checkpoints of the run, whose newest has been restored."""
        checkpointing = Checkpointing(
            os.path.join(self.options.output_dir, CHECKPOINTS),
            self.options.keep_checkpoint_max,
            self.writes_outputs,
            RunRecord(self.options.identity),
            # All of them: a run that goes on finds its place in whichever it is.
            stages,
            model=self.model,
            optimizer=self.optimizer,
            guard=self._train_step.guard,
            train_seconds=self._train_seconds,
        )
        restored = checkpointing.restore(self.options.restart_data)
        if restored:
            logging.info("Continuing at step %d from %s", self.step, restored)
        return checkpointing

    def _check_same_step(self):
        steps = sorted({int(step) for step in self._workers.all_values(self.step)})
        if len(steps) > 1:
            raise UserError(
                "The workers found different checkpoints in "
                f"{self.options.output_dir} (of the steps {steps}); name an "
                "--output_dir that all workers share."
            )

    @naming_lost_workers()
    def evaluate(self, dataset):
        """Evaluates the held-out data now: `{metric: value}`."""
        asked = self.step, dataset
        if self._evaluated is None or self._evaluated[0] != asked:
            self._evaluated = asked, self.evaluator.evaluate(dataset)
        return self._evaluated[1]

    def seconds_per_step(self, stage, loops, steps=1):
        """Times `loops` of a `Stage`, after one that compiles: the best time per step.

        The loops train the model, but write nothing.
        """
        self._check_batch(stage)
        self._begin(stage)
        times = []
        for _ in range(1 + loops):
            started = time.monotonic()
            self._device_loop.run(stage, steps)
            times.append((time.monotonic() - started) / steps)
        return min(times[1:])

    def _stages(self, dataset):
        stages = dataset
        if isinstance(dataset, tf.data.Dataset):
            stages = [Stage(dataset, self.options.num_train_steps)]
        for stage in stages:
            self._check_batch(stage)
        return stages

    def _check_batch(self, stage):
        rows, micro_batches = stage.batch_size, stage.gradient_accumulation_steps
        replicas = self.strategy.num_replicas_in_sync
        count = replicas * micro_batches
        if rows is None or rows % count:
            raise UserError(
                f"The batch size {rows} does not divide into {count} equal parts "
                f"({replicas} replicas x {micro_batches} accumulation steps); choose "
                f"a multiple of {count}."
            )

    def _due(self, interval):
        return interval > 0 and self.step % interval == 0

    def _loop(self, stages):
        """Runs steps up to the next multiple of an interval, and reports them."""
        start, reporter = self.step, self.reporter
        number = sum(stage.last_step <= start for stage in stages)
        stage = stages[number]
        count = self._loop_end(start, number, stage.last_step) - start
        reporter.before_loop(start)
        started = time.monotonic()
        if reporter.wants_statistics(start):
            totals, sizes, statistics = self._device_loop.run_observed(stage)
            reporter.after_statistics(self.step, statistics)
        else:
            totals, sizes = self._device_loop.run(stage, count)
        seconds = time.monotonic() - started
        slowest = max(self._workers.all_values(seconds / count))
        self._seconds_per_step[number] = slowest
        self._train_seconds.assign_add(seconds)
        self._check_convergence()
        results = average(self._train_step.metric_names, totals, self.objective)
        reporter.after_loop(self.step, count, seconds, results, sizes)

    def _loop_end(self, start, stage_number, last_step):
        """Returns the next step at which something is due, at most `last_step`."""
        options = self.options
        intervals = (
            options.iterations_per_loop,
            options.eval_steps,
            options.save_checkpoints_steps,
        )
        ends = [
            start - start % interval + interval for interval in intervals if interval
        ]
        steps = max(1, int(_LOOP_SECONDS / self._seconds_per_step[stage_number]))
        return min(*ends, start + steps, last_step, self.reporter.next_stop(start))

    def _check_convergence(self):
        steps = self._train_step.guard.diverged_steps()
        if steps is not None:
            raise UserError(
                "Training diverged: loss or gradients were not finite in any step "
                f"from {steps[0]} to {steps[1]}. Lower --learning_rate or lengthen "
                "the warm-up, and run the command again, which continues from the "
                "last checkpoint; if it diverges at once, delete the newest "
                f"checkpoint in {self.options.output_dir}/checkpoints."
            )

    def _evaluate(self, dataset, save_best):
        if dataset is None or self.reporter.history.has_evaluation(self.step):
            return
        results = self.evaluate(dataset)
        metric, lower = self.options.best_metric, self.options.lower_is_better
        if (
            metric
            and save_best
            and self.writes_outputs
            and evaluations_since_best([*self.history, results], metric, lower) == 0
        ):
            save_best(self.step, results)
        # After saving the best model: a run killed in between evaluates again.
        seconds = float(self._train_seconds.numpy())
        self.reporter.after_evaluation(self.step, seconds, results)

    def _out_of_patience(self):
        # All workers or none: different machines may differ in the scores' last digits.
        metric, lower = self.options.best_metric, self.options.lower_is_better
        own = out_of_patience(self.history, metric, self.options.patience, lower)
        return max(self._workers.all_values(int(own)))
