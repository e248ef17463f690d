"""Reports of a run: progress, TensorBoard, trackers and the history of evaluations."""

import contextlib
import importlib.metadata
import platform

import keras
import numpy as np
import tensorflow as tf
from absl import logging

import albert_tf
from albert_tf.display.progress import Progress
from albert_tf.engine.reporting.curves import write_curves
from albert_tf.engine.reporting.summaries import RunHistory
from albert_tf.engine.reporting.summaries import StepProfiler
from albert_tf.engine.reporting.trackers import parsed
from albert_tf.engine.reporting.trackers import tracking
from albert_tf.engine.resumption import stored_values
from albert_tf.engine.train_step import VARIABLE_STATISTICS

_SHORT_NAMES = {
    "masked_lm": "MLM",
    "permutation_lm": "PLM",
    "sentence_order": "SOP",
}
_PACKAGES = ("tensorflow-text", "sentencepiece")


class RunReporter:
    """Shows a run on the terminal or in the log, and records it in its directory.

    The trainer reports events; this class decides how they are shown and where they
    are written.

    Args:
        model: the Keras model, for the names of its variables.
        optimizer: a built `MomentsOptimizer`, for the learning rate.
        options: `TrainerOptions`.
        is_shown: whether this process shows and records the run; one of all does.

    Attributes:
        history: the `RunHistory`, from `reporting` on.

    Raises:
        UserError: a tracker is unknown, or its package is missing.
    """

    def __init__(self, model, optimizer, options, is_shown):
        self._model = model
        self._optimizer = optimizer
        self._options = options
        self._is_shown = is_shown
        self._profiler = StepProfiler(options.output_dir, options.profile_range())
        self._trackers = parsed(options.track) if is_shown else ()
        self._track = None
        self.history = None
        self._progress = None

    @contextlib.contextmanager
    def tracking(self):
        """Opens the trackers of the run inside a `with` block around `reporting`."""
        options = self._options
        settings = stored_values(options.identity)
        with tracking(self._trackers, options.output_dir, settings) as self._track:
            yield

    @contextlib.contextmanager
    def reporting(self, step):
        """Reports the run inside a `with` block that begins at `step`."""
        last = self._options.num_train_steps
        directory = self._options.output_dir
        self.history = RunHistory(directory, step, self._is_shown, self._track)
        with contextlib.ExitStack() as stack:
            stack.callback(self._profiler.stop)
            if self._is_shown and step < last:
                progress = Progress(last, "steps", "training", step)
                self._progress = stack.enter_context(progress)
            yield

    def next_stop(self, step):
        """Returns the step at which a loop that begins at `step` must stop."""
        stops = [self._options.num_train_steps, self._profiler.next_stop(step)]
        if every := self._options.histogram_steps:
            due = step - step % every + every
            # A step with statistics is a loop of its own.
            stops.append(due if step + 1 == due else due - 1)
        return min(stops)

    def wants_statistics(self, step):
        """Returns whether the step after `step` should give `VARIABLE_STATISTICS`."""
        every = self._options.histogram_steps
        return every > 0 and (step + 1) % every == 0

    def before_loop(self, step):
        """Records that a loop of steps begins after `step`."""
        self._profiler.before_loop(step)
        if self._is_shown:
            self._progress.waiting = "compiling the first step"

    def after_loop(self, step, count, seconds, results, sizes):
        """Reports the results of a loop of training steps.

        Args:
            step: optimizer steps done.
            count: the number of steps in this loop.
            seconds: how long the loop took.
            results: `{name: average over the steps}`.
            sizes: (rows, tokens) of the batches, padding included.
        """
        self._profiler.after_loop(step)
        rows, tokens = sizes
        rates = {
            "steps_per_second": count / seconds,
            "sequences_per_second": rows / seconds,
            "tokens_per_second": tokens / seconds,
        }
        options = self._options
        if options.flops_per_token and options.peak_flops:
            rates["model_flop_utilisation"] = (
                rates["tokens_per_second"]
                * options.flops_per_token(tokens / rows)
                / options.peak_flops
            )
        rate = float(self._optimizer.learning_rate_after(step - 1))
        results = {**results, "learning_rate": rate, **rates}
        self.history.write_scalars("train", step, results)
        if self._is_shown:
            self._progress.update(step, _notes(results))

    def after_statistics(self, step, statistics):
        """Records one step's `VARIABLE_STATISTICS`, `[statistics, variables]`."""
        names = self._model.official_names()
        variables = self._model.trainable_variables
        for name, values in zip(VARIABLE_STATISTICS, statistics, strict=True):
            values = {
                names[variable.path]: value
                for i, (variable, value) in enumerate(
                    zip(variables, values, strict=True)
                )
                if name != "trust_ratio" or not self._optimizer.excluded[i]
            }
            self.history.write_distribution(step, name, values)

    def after_evaluation(self, step, train_seconds, results):
        """Reports an evaluation; `train_seconds` is the training time so far."""
        self.history.add_evaluation(step, train_seconds, results)
        if not self._is_shown:
            return
        shown = ", ".join(f"{name} {value:.4f}" for name, value in results.items())
        where = self._options.evaluated.capitalize()
        logging.info("%s at step %d: %s", where, step, shown)

    def finish(self):
        """Draws the curves of the whole run."""
        if self._is_shown:
            options, evaluations = self._options, self.history.evaluations
            write_curves(options.output_dir, evaluations, options.evaluated)


def _notes(results):
    """Formats the results of some steps, each in a few words."""
    parts = [f"loss {results['loss']:.4g}"]
    for name, value in results.items():
        term = name.removesuffix("_loss")
        if term == name:
            continue
        part = f"{_SHORT_NAMES.get(term, term)} {value:.4g}"
        accuracy = results.get(f"{term}_accuracy")
        parts.append(part if accuracy is None else f"{part} ({accuracy:.1%} right)")
    if results["skipped"]:
        parts.append(f"{results['skipped']:.1%} of the steps skipped as not finite")
    parts += [
        f"gradient norm {results['gradient_norm']:.4g}",
        f"learning rate {results['learning_rate']:.4g}",
        f"{results['sequences_per_second']:,.4g} sequences/s",
        f"{results['tokens_per_second']:,.0f} tokens/s",
    ]
    if "model_flop_utilisation" in results:
        parts.append(f"MFU {results['model_flop_utilisation']:.1%}")
    return parts


def versions():
    """Returns the versions of Python, this package and its dependencies.

    The version of a package that is not installed is None.
    """
    return {
        "python": platform.python_version(),
        "albert-tf": albert_tf.__version__,
        # Not by a name: it may be of tensorflow-tpu, tensorflow-cpu or keras-nightly.
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        **{name: _installed(name) for name in _PACKAGES},
        "numpy": np.__version__,
    }


def _installed(package):
    """Returns the version of a package, or of its nightly build; None without."""
    for name in (package, f"{package}-nightly"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None
