"""Checkpoints of a whole training run: weights, optimizer, step, place in the data."""

import os

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError

# What TensorFlow raises for files that are damaged, or not of these objects.
_UNUSABLE = (tf.errors.OpError, AssertionError, IndexError, ValueError)


class Checkpointing:
    """Saves and restores what a run needs to continue exactly where it stopped.

    TensorFlow writes a checkpoint under temporary names and switches the small file
    `checkpoint` to it last, by renaming: a run killed while it saves leaves the
    checkpoint before.

    Args:
        directory: where checkpoints lie.
        keep: how many to keep; 0 for all.
        writes: whether `save` saves; all processes of a run restore, one saves. (All
            would have to if a variable had other values in each; none has.)
        **objects: what is saved, such as `model=`, `optimizer=`, `iterator=`.
    """

    def __init__(self, directory, keep, writes, **objects):
        self.directory = directory
        self._writes = writes
        checkpoint = tf.train.Checkpoint(**objects)
        self._checkpoint = checkpoint
        self._manager = tf.train.CheckpointManager(
            checkpoint, directory, max_to_keep=keep or None, checkpoint_name="training"
        )
        self._step = None

    def save(self, step):
        """Saves as `training-<step>`, unless that is what was last saved or restored.

        A file of that name does not count: it may be one that could not be restored.
        """
        if self._writes and step != self._step:
            self._manager.save(checkpoint_number=step)
            self._step = step

    def restore(self):
        """Restores the newest checkpoint that can be read.

        Returns:
            Its path, or None if the run is new.

        Raises:
            UserError: there are checkpoints, and none can be read or fits.
        """
        paths = list(reversed(self._manager.checkpoints))
        reasons = []
        for path in paths:
            try:
                status = self._checkpoint.read(path)
                status.assert_existing_objects_matched()
            except _UNUSABLE as error:
                reason = str(error).splitlines()[0]
                logging.warning("Checkpoint %s cannot be used: %s", path, reason)
                reasons.append(f"{os.path.basename(path)} ({reason})")
                continue
            self._step = int(path.rpartition("-")[2])
            return path
        if reasons:
            raise UserError(
                f"No checkpoint in {self.directory} can be used: {'; '.join(reasons)}. "
                "Train into another --output_dir, or with the options of that run."
            )
        return None
