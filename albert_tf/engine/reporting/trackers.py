"""Trackers that follow a run beside TensorBoard: Weights & Biases and MLflow."""

import contextlib
import functools
import os

from absl import logging

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_json

_IDS = "trackers.json"
_PROJECT = "albert-tf"
_LONGEST = 500  # characters that every version of MLflow takes for a setting


class _Wandb:
    """A run of Weights & Biases, in the project WANDB_PROJECT or `albert-tf`."""

    def __init__(self, directory, settings, run_id):
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=directory,
            id=run_id,
            resume="allow",
            config=settings,
            dir=None if storage.is_remote(directory) else directory,
        )
        self.run_id = self._run.id

    def log(self, step, values):
        self._run.log(values, step=step)

    def finish(self, is_whole):
        self._run.finish(exit_code=0 if is_whole else 1)


class _Mlflow:
    """A run of MLflow, where MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say."""

    def __init__(self, directory, settings, run_id):
        import mlflow

        self._mlflow = mlflow
        self.run_id = mlflow.start_run(run_id=run_id, run_name=directory).info.run_id
        if settings is not None:
            try:
                mlflow.log_params({k: str(v)[:_LONGEST] for k, v in settings.items()})
            except BaseException:
                mlflow.end_run("FAILED")
                raise

    def log(self, step, values):
        self._mlflow.log_metrics(values, step=step)

    def finish(self, is_whole):
        self._mlflow.end_run("FINISHED" if is_whole else "KILLED")


_TRACKERS = {"wandb": _Wandb, "mlflow": _Mlflow}


def parsed(track):
    """Splits `--track` into names of trackers, whose packages are installed.

    Args:
        track: names separated by commas; None or "" for none.

    Raises:
        UserError: a name is unknown, or its package is missing.
    """
    names = [*dict.fromkeys(filter(None, map(str.strip, (track or "").split(","))))]
    for name in names:
        if name not in _TRACKERS:
            raise UserError(
                f"--track={track}: {name!r} is no tracker; expected "
                f"{' or '.join(_TRACKERS)}, or both separated by a comma."
            )
        with of_extra(name, f"--track={name} needs the package {name}"):
            __import__(name)
    return names


@contextlib.contextmanager
def tracking(names, directory, settings):
    """Opens the trackers inside a `with` block; yields a function to record values.

    A continued run goes on in the same runs of its trackers, whose ids are in
    `trackers.json`. What a tracker refuses to record is a warning.

    Args:
        names: the result of `parsed`.
        directory: the run's directory, which also is its name.
        settings: `{name: JSON value}`, recorded when a tracker's run begins.

    Yields:
        A function of a step and `{name: number}`.

    Raises:
        UserError: a tracker cannot start or continue its run.
    """
    runs, is_whole = {}, False
    path = os.path.join(directory, _IDS)
    try:
        for name in names:
            ids = read_json_object(path) if storage.exists(path) else {}
            runs[name] = _start(name, directory, settings, ids.get(name), path)
            if ids.get(name) != runs[name].run_id:
                write_json(path, {**ids, name: runs[name].run_id})
        yield functools.partial(_log, runs)
        is_whole = True
    finally:
        for name, run in runs.items():
            with _only_warned_of(name):
                run.finish(is_whole)


def _start(name, directory, settings, run_id, path):
    try:
        known = None if run_id else settings
        return _TRACKERS[name](directory, known, run_id)
    except Exception as error:  # their own classes, and those of their connections
        again = f"; to begin another one, delete {path}" if run_id else ""
        raise UserError(
            f"--track={name}: {name} cannot {'continue' if run_id else 'begin'} a run "
            f"({error}); set it up as its manual says, or leave it out{again}."
        ) from error


def _log(runs, step, values):
    for name, run in runs.items():
        with _only_warned_of(name):
            run.log(step, values)


@contextlib.contextmanager
def _only_warned_of(name):
    """Turns errors into warnings: training does not end because a server does."""
    try:
        yield
    except Exception as error:
        logging.warning("%s did not record something of the run: %s", name, error)
