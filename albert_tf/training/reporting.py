"""What a run shows and records: progress, TensorBoard, the history of evaluations."""

import contextlib

from absl import logging

from albert_tf.progress import Progress
from albert_tf.training.summaries import RunHistory

# Results that the note of the progress line words differently, or leaves out.
_NOT_IN_NOTE = ("skipped", "steps_per_second")


class RunReporter:
    """Shows a run on the terminal or in the log, and records it in its directory.

    The trainer says what happened; how that is shown and where it is written is
    decided here. Nothing here changes what is trained.

    Args:
        output_dir: the run's directory.
        num_train_steps: optimizer steps in all.
        optimizer: the Keras optimizer, for the learning rate.
    """

    def __init__(self, output_dir, num_train_steps, optimizer):
        self._output_dir = output_dir
        self._num_train_steps = num_train_steps
        self._optimizer = optimizer
        self._history = None
        self._progress = None

    @property
    def evaluations(self):
        """Held-out evaluations so far: dicts with `step` and `train_seconds`."""
        return self._history.evaluations

    @contextlib.contextmanager
    def reporting(self, step):
        """Reports the run inside a `with` block that begins at `step`."""
        self._history = RunHistory(self._output_dir, step)
        with contextlib.ExitStack() as stack:
            if step < self._num_train_steps:
                progress = Progress(self._num_train_steps, "steps", "training", step)
                self._progress = stack.enter_context(progress)
            yield

    def after_loop(self, step, count, seconds, results):
        """Takes what some training steps brought.

        Args:
            step: optimizer steps done.
            count: how many of them this loop did.
            seconds: how long it took.
            results: `{name: average over the steps}`.
        """
        results = {
            **results,
            "learning_rate": float(self._optimizer.learning_rate),
            "steps_per_second": count / seconds,
        }
        self._history.write_scalars("train", step, results)
        shown = [name for name in results if name not in _NOT_IN_NOTE]
        note = ", ".join(f"{name} {results[name]:.4g}" for name in shown)
        if results["skipped"]:
            note += f", {results['skipped']:.1%} of the steps skipped as not finite"
        self._progress.update(step, note)

    def has_evaluation(self, step):
        """Whether the evaluation at `step` is in the history."""
        return self._history.has_evaluation(step)

    def after_evaluation(self, step, train_seconds, results):
        """Takes held-out results; `train_seconds` is the training time so far."""
        self._history.add_evaluation(step, train_seconds, results)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in results.items())
        logging.info("Held out at step %d: %s", step, shown)
