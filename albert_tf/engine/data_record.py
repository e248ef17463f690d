"""Tells whether a run goes on in the data that its checkpoints have their place in."""

import json

import tensorflow as tf

from albert_tf.errors import UserError


class DataRecord(tf.train.experimental.PythonState):
    """What the data is made from, saved with the place in it.

    An iterator that is restored reads the files, and with them the batch size and the
    order, of the run that saved it, whatever this run was asked for; or it fails.

    Args:
        flags: JSON values by the names of their flags.
    """

    def __init__(self, flags):
        self.flags = flags
        self.saved = None

    def serialize(self):
        """The flags as JSON."""
        return json.dumps(self.flags)

    def deserialize(self, text):
        """Notes what was saved."""
        self.saved = json.loads(text)

    def check(self, directory):
        """Refuses to go on in other data than that of the checkpoints.

        Raises:
            UserError: a flag is not what it was.
        """
        for name, value in self.flags.items():
            before = (self.saved or {}).get(name, value)
            if before != value:
                raise UserError(
                    f"--{name}={value}, but the checkpoints in {directory} have their "
                    f"place in data of --{name}={before}; go on with that or, to read "
                    "other data from its beginning, with --restart_data."
                )
