"""Records of a run: TensorBoard summaries, evaluations and profiles of steps."""

import contextlib
import math
import os

import numpy as np
import tensorflow as tf
from absl import logging

from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import parse_json
from albert_tf.io.files import write_atomically
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole

_HISTORY = "history.json"
_BUCKETS = 30
_NEVER = float("inf")


def _metadata(plugin, data_class):
    """Returns the metadata that `tf.summary.<plugin>` writes beside a value.

    Those functions need TensorBoard installed during training; this one does not.
    """
    return tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name=plugin),
        data_class=data_class,
    )


_SCALAR = _metadata("scalars", "DATA_CLASS_SCALAR")
_HISTOGRAM = _metadata("histograms", "DATA_CLASS_TENSOR")


class RunHistory:
    """The evaluations of a run, kept in `history.json` and shown by TensorBoard.

    Args:
        directory: the run's directory.
        step: where the run continues; later entries of an earlier attempt are dropped.
        writes: whether to write anything; False in all but one process of a run.
        track: a function of a step and `{name: number}` that trackers have; or None.
    """

    def __init__(self, directory, step, writes=True, track=None):
        self._directory = directory
        self._track = track
        earlier = read_history(os.path.join(directory, _HISTORY))
        self.evaluations = [entry for entry in earlier if entry["step"] <= step]
        self._writes = writes
        with storage.os_errors(directory):
            self._writers = {
                kind: tf.summary.create_file_writer(os.path.join(directory, kind))
                if writes
                else tf.summary.create_noop_writer()
                for kind in ("train", "eval")
            }

    def write_scalars(self, kind, step, values):
        """Writes scalars for TensorBoard and trackers; `kind` is "train" or "eval"."""
        if self._track:
            named = {f"{kind}/{name}": float(value) for name, value in values.items()}
            self._track(step, named)
        with self._writing(kind):
            for name, value in values.items():
                value = tf.constant(value, tf.float32)
                tf.summary.write(name, value, step=step, metadata=_SCALAR)

    def write_distribution(self, step, name, values):
        """Writes a training `{part: value}`: one scalar per part and one histogram."""
        scalars = {f"{name}/{part}": value for part, value in values.items()}
        self.write_scalars("train", step, scalars)
        buckets = tf.constant(histogram(list(values.values())), tf.float64)
        with self._writing("train"):
            tag = f"variables/{name}"
            tf.summary.write(tag, buckets, step=step, metadata=_HISTOGRAM)

    @contextlib.contextmanager
    def _writing(self, kind):
        with storage.os_errors(self._directory), self._writers[kind].as_default():
            yield
            self._writers[kind].flush()

    def has_evaluation(self, step):
        """Returns whether an evaluation at `step` is in the history."""
        return any(entry["step"] == step for entry in self.evaluations)

    def add_evaluation(self, step, seconds, values):
        """Adds an evaluation; `seconds` is the training time so far."""
        self.evaluations.append({"step": step, "train_seconds": seconds, **values})
        self.write_scalars("eval", step, values)
        if self._writes:
            with ChecksummedFolder(self._directory) as folder:
                folder.write_json(_HISTORY, self.evaluations)


def read_history(path):
    """Reads the entries of a `history.json`: dicts of numbers, including `step`.

    Returns an empty list if there is no file or, with a warning, if it is damaged.

    Raises:
        UserError: the file is missing, though its folder lists it.
    """
    require_whole(os.path.dirname(path))
    if not storage.exists(path):
        return []
    data = storage.read_bytes(path)
    try:
        entries = parse_json(data)
        checksums.check_bytes(path, data)
        # Null is NaN, which JSON cannot express.
        entries = [
            {name: math.nan if v is None else v for name, v in entry.items()}
            for entry in entries
        ]
        kinds = {type(value) for entry in entries for value in entry.values()}
        if kinds <= {int, float} and {type(e["step"]) for e in entries} <= {int}:
            return entries
    except (ValueError, KeyError, TypeError, AttributeError):  # UserError is one
        pass
    logging.warning("%s is damaged; it loses the evaluations before this start.", path)
    return []


def histogram(values):
    """Counts finite values in 30 buckets: left edge, right edge, count, `[30, 3]`."""
    values = np.asarray(values, np.float64)
    counts, edges = np.histogram(values[np.isfinite(values)], bins=_BUCKETS)
    return np.stack([edges[:-1], edges[1:], counts], axis=1)  # [30, 3]


def read_eval_results(path):
    """Reads a file of `write_eval_results`: `{name: str}`, empty without a file."""
    if not storage.exists(path):
        return {}
    lines = storage.read_bytes(path).decode("utf-8", "replace").splitlines()
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def write_eval_results(path, values):
    """Writes sorted `key = value` lines, like the official `eval_results.txt`."""
    lines = [f"{name} = {value}\n" for name, value in sorted(values.items())]
    write_atomically(path, "".join(lines))


class StepProfiler:
    """Profiles a range of steps into `<directory>/profile`.

    Viewing the profile needs TensorBoard and its profiler plugin; writing does not.

    Args:
        directory: the run's directory.
        steps: (from, to), the range of steps to profile; None for none.
    """

    def __init__(self, directory, steps):
        self._directory = os.path.join(directory, "profile")
        self._first, self._end = steps or (_NEVER, _NEVER)
        self._running = False

    def next_stop(self, step):
        """Returns the next boundary of the range after `step`, or infinity."""
        return min((s for s in (self._first, self._end) if s > step), default=_NEVER)

    def before_loop(self, step):
        """Starts the trace if `step` is in the range."""
        if self._first <= step < self._end and not self._running:
            tf.profiler.experimental.start(self._directory)
            self._running = True

    def after_loop(self, step):
        """Ends the trace where the range ends."""
        if step >= self._end:
            self.stop()

    def stop(self):
        """Ends an active trace, for example if a run stops early."""
        if self._running:
            tf.profiler.experimental.stop()
            self._running = False
            logging.info(
                "To see the trace, run tensorboard --logdir=%s", self._directory
            )
