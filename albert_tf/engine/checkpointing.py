"""Checkpoints of a training run: weights, optimizer, step and place in the data."""

import contextlib
import dataclasses
import json
import os
import re

import tensorflow as tf
from absl import logging

from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.engine.resumption import UNKNOWN
from albert_tf.engine.resumption import check_identity
from albert_tf.engine.resumption import stored_values
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import write_atomically

CHECKPOINTS = "checkpoints"
"""The folder of checkpoints in a run's output directory."""

# TensorFlow's errors for damaged files, and for checkpoints of other objects.
_UNUSABLE = (tf.errors.OpError, AssertionError, IndexError, ValueError)
_NAME = "training"
_FORMAT = 2  # the record's; format 1 was only a dict of some flags
_FILE = re.compile(rf"({_NAME}-(\d+))\.(index|data-.*)")
_STATE_FILE = "checkpoint"  # TensorFlow's list of the checkpoints in a folder
# Leftovers of killed runs: parts of a checkpoint, of that list and of the best model.
_UNFINISHED = (
    f"{_NAME}-*_temp",
    f"{_STATE_FILE}.tmp{'[0-9a-f]' * 32}",
    "best-*.tmp",
)


class Checkpointing:
    """Saves and restores a run's state, so that it continues exactly where it stopped.

    TensorFlow writes a checkpoint under temporary names and renames the files last: a
    run killed while saving leaves the previous checkpoint. The files determine which
    checkpoints exist; TensorFlow's list of them, which may be lost, is rewritten.

    Args:
        directory: the folder of the checkpoints.
        keep: how many to keep; 0 for all.
        writes: whether `save` saves; all processes of a run restore, and one saves, as
            every variable has the same value in all.
        record: `RunRecord` of the run's sources.
        stages: list of the `Stage`s whose places are saved.
        **objects: further objects to save, such as `model=` and `optimizer=`.

    Raises:
        UserError: the files that the list names are gone.
    """

    def __init__(self, directory, keep, writes, record, stages, **objects):
        self.directory = directory
        self._record = record
        self._carried = [stage.carried for stage in stages if stage.carried.saved]
        self._without_place = tf.train.Checkpoint(**objects)
        place = {"iterators": [stage.iterator for stage in stages]}
        if self._carried:
            place["carried"] = [carried.saved for carried in self._carried]
        # Checkpoints of every version call the record `data_record`.
        self._checkpoint = tf.train.Checkpoint(data_record=record, **place, **objects)
        self._paths = checkpoints_in(directory)
        self._manager = self._new_manager(keep) if writes else None
        self._step = None

    def _new_manager(self, keep):
        with storage.os_errors(self.directory):
            if self._paths:
                _write_list(self.directory, self._complete() or self._paths)
            for pattern in _UNFINISHED:
                for unfinished in storage.matching(self.directory, pattern):
                    _remove(unfinished)
            return tf.train.CheckpointManager(
                self._checkpoint,
                self.directory,
                max_to_keep=keep or None,
                checkpoint_name=_NAME,
            )

    def _complete(self):
        """Lists the checkpoints that have an index, which TensorFlow writes last."""
        return [path for path in self._paths if storage.exists(f"{path}.index")]

    def save(self, step):
        """Saves as `training-<step>`, unless that step was last saved or restored.

        It replaces an existing file of that name, which could not be restored.

        Raises:
            OSError: the checkpoint cannot be written.
        """
        if step == self._step:
            return
        for carried in self._carried:
            carried.collect()  # from all processes
        if self._manager:
            with storage.os_errors(self.directory):
                self._manager.save(checkpoint_number=step)
        self._step = step

    @contextlib.contextmanager
    def told_of_when_stopped(self):
        """Logs the saved step if the run is stopped inside the `with` block."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            if self._manager and self._step is None:
                logging.info("Nothing is saved yet; the run will begin again at step 0")
            elif self._manager:
                logging.info("Saved: step %d, in %s", self._step, self.directory)
            raise

    def restore(self, restart_data=False):
        """Restores the newest readable checkpoint.

        Args:
            restart_data: leave the iterators at their beginning, for changed data.

        Returns:
            Its path, or None if the run is new.

        Raises:
            UserError: none of the checkpoints can be read or fits; or they belong to a
                run with another identity.
        """
        checkpoint = self._without_place if restart_data else self._checkpoint
        reasons = []
        for path in reversed(self._paths):
            self._check_same_run(path)
            try:
                status = checkpoint.read(path)
                status.assert_existing_objects_matched()
                status.expect_partial()  # Silences a warning.
            except _UNUSABLE as error:
                reason = str(error).splitlines()[0]
                logging.warning("Skipping the checkpoint %s: %s", path, reason)
                reasons.append(f"{os.path.basename(path)} ({reason})")
                continue
            for carried in self._carried:
                carried.deal_out()
            if self._manager:
                for orphan in {*self._paths} - {*self._complete()}:
                    name = os.path.basename(orphan)
                    for left in storage.matching(self.directory, f"{name}.data-*"):
                        _remove(left)
            self._step = int(path.rpartition("-")[2])
            return path
        if reasons:
            # TensorFlow's message contains the names of the files it was reading.
            allowed = f"with --{RESTART_DATA} if its data was moved or made anew, "
            allowed = "" if restart_data else allowed
            raise UserError(
                f"No checkpoint in {self.directory} can be used: {'; '.join(reasons)}. "
                f"Train with the options of that run, {allowed}or into another "
                "--output_dir."
            )
        return None

    def _check_same_run(self, path):
        self._record.read(path)
        self._record.check(self.directory)


def _remove(path):
    if storage.is_folder(path):
        storage.remove_folder(path)
    else:
        storage.remove_file(path)


def _write_list(directory, paths):
    """Writes the list of checkpoints that the manager may remove."""
    names = [os.path.basename(path) for path in paths]
    lines = [f'model_checkpoint_path: "{names[-1]}"\n']
    for name in names:
        lines.append(f'all_model_checkpoint_paths: "{name}"\n')
        # The manager skips checkpoints without a timestamp, which has no other effect.
        lines.append("all_model_checkpoint_timestamps: 1\n")
    write_atomically(os.path.join(directory, _STATE_FILE), "".join(lines))


def checkpoints_in(directory):
    """Lists a folder's checkpoints by step, even incomplete ones.

    Raises:
        UserError: TensorFlow's list names checkpoints, but there are none.
    """
    if not storage.is_folder(directory):
        return []
    names = storage.names_in(directory)
    found = {match[1]: int(match[2]) for match in map(_FILE.fullmatch, names) if match}
    if _STATE_FILE in names and not found:
        raise UserError(
            f"{os.path.join(directory, _STATE_FILE)} lists checkpoints, but all of "
            "them are missing; copy them back, or delete this file to start anew."
        )
    return [os.path.join(directory, name) for name in sorted(found, key=found.get)]


class RunRecord(tf.train.experimental.PythonState):
    """The `IdentityEntry`s of a run, saved with each of its checkpoints."""

    def __init__(self, identity=()):
        self.identity = tuple(identity)
        self._saved = {}

    def serialize(self):
        """Returns the identity as JSON."""
        return json.dumps({"format": _FORMAT, "facts": stored_values(self.identity)})

    def deserialize(self, text):
        """Keeps the saved identity for `check`."""
        self._saved = json.loads(text)

    def read(self, path):
        """Reads what is saved with a checkpoint; `restore` reports unreadable files."""
        with contextlib.suppress(*_UNUSABLE):
            tf.train.Checkpoint(data_record=self).read(path).expect_partial()

    @property
    def facts(self):
        """The saved `stored_values`; empty before `read`, or of the first format."""
        return self._saved.get("facts", {}) if "format" in self._saved else {}

    def check(self, directory):
        """Compares the identity with a checkpoint's; see `check_identity`.

        Checkpoints of the first format hold only the flags of the data, and nothing
        else is compared.
        """
        identity, saved = self.identity, self._saved
        if "format" in saved:
            saved = saved["facts"]
        else:
            identity = [
                dataclasses.replace(entry, default=UNKNOWN) for entry in identity
            ]
        check_identity(identity, saved, directory)
