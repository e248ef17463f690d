"""Which devices train: from a flag to a `tf.distribute.Strategy`."""

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError

STRATEGIES = ("auto", "cpu", "mirrored")


def create_strategy(name):
    """Returns the strategy of `--distribution_strategy`.

    Args:
        name: "auto" takes all GPUs, or the CPU if there are none; "cpu" the CPU;
            "mirrored" every GPU, or every logical CPU device if there are none.

    Raises:
        UserError: the name is unknown.
    """
    if name not in STRATEGIES:
        raise UserError(
            f"--distribution_strategy={name} is unknown; choose from {STRATEGIES}."
        )
    devices = tf.config.list_logical_devices("GPU")
    if name == "cpu" or (name == "auto" and not devices):
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    elif name == "auto" and len(devices) == 1:
        strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
    else:
        devices = devices or tf.config.list_logical_devices("CPU")
        strategy = tf.distribute.MirroredStrategy([d.name for d in devices])
    logging.info(
        "Training on %d replica(s): %s",
        strategy.num_replicas_in_sync,
        ", ".join(strategy.extended.worker_devices),
    )
    return strategy
