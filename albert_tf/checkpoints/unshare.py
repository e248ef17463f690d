"""Writes a model in the terms of those who only know groups of layers."""

import dataclasses

from albert_tf.checkpoints.layers import move_layers


def unshare(config, tensors):
    """The same function with `parameter_sharing="all"`.

    Where layers share only some sublayers (which neither the official code nor
    Hugging Face can express), every layer becomes a group of its own.

    Args:
        config: an `AlbertConfig`.
        tensors: arrays by official name.

    Returns:
        (config, tensors), unchanged if the layers of a group share everything.
    """
    if config.parameter_sharing == "all":
        return config, tensors
    unshared = dataclasses.replace(
        config,
        parameter_sharing="all",
        num_hidden_groups=config.num_hidden_layers,
    )
    tensors, _ = move_layers(tensors, config, unshared)
    return unshared, tensors
