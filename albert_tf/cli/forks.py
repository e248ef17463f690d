"""TensorFlow computes in the process that it began in, and hangs in forks of that."""

import os

from albert_tf.errors import UserError

_computed = []  # the id of the process that has computed, inherited by its forks


def check_process():
    """Notes that this process computes.

    Raises:
        UserError: it is a fork of one that has computed.
    """
    if not _computed:
        _computed.append(os.getpid())
    if _computed[0] != os.getpid():
        raise UserError(
            f"Process {os.getpid()} was forked from {_computed[0]}, where TensorFlow "
            "has computed, and would hang; start it with "
            'multiprocessing.get_context("spawn"), or load the model after the fork.'
        )
