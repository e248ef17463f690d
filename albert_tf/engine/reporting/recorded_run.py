"""A run as its directory records it."""

import dataclasses
import os

from albert_tf.engine.checkpointing import CHECKPOINTS
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.engine.checkpointing import checkpoints_in
from albert_tf.engine.reporting.curves import evaluated_values
from albert_tf.engine.reporting.curves import training_scalars
from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.errors import UserError

_SPEED = "steps_per_second"


@dataclasses.dataclass(frozen=True)
class RecordedRun:
    """The settings and the measurements of a run of any command that trains."""

    name: str
    settings: dict
    """JSON values by flag or other fact; empty before the first checkpoint."""
    training: dict
    """`{name: {step: value}}`, averages over a loop of steps each."""
    held_out: dict
    """`{name: {step: value}}` of evaluations."""
    scores: dict
    """Texts of `eval_results.txt` by name; empty without the file."""

    @property
    def minutes(self):
        """Minutes of training, without evaluations and checkpoints; None if unknown."""
        seconds, begin = 0.0, 0
        for step, rate in sorted(self.training.get(_SPEED, {}).items()):
            seconds, begin = seconds + (step - begin) / rate, step
        return seconds / 60 if seconds else None


def read_run(directory):
    """Reads a run's directory, whether the run has ended or not.

    Raises:
        UserError: no run has written there, or a file is damaged.
    """
    evaluations = read_history(os.path.join(directory, "history.json"))
    run = RecordedRun(
        directory,
        _settings(os.path.join(directory, CHECKPOINTS)),
        training_scalars(os.path.join(directory, "train")),
        evaluated_values(evaluations),
        read_eval_results(os.path.join(directory, "eval_results.txt")),
    )
    if not (run.training or run.held_out or run.scores):
        raise UserError(
            f"{directory} holds no run: neither train/, history.json nor "
            "eval_results.txt; name the --output_dir of a command that trained."
        )
    return run


def _settings(checkpoints):
    """Reads the settings saved with the newest readable checkpoint."""
    for path in reversed(checkpoints_in(checkpoints)):
        record = RunRecord()
        record.read(path)
        if record.facts:
            return record.facts
    return {}
