"""Writes a model in the terms of those who only know groups of layers."""

import dataclasses
import re

from albert_tf.checkpoints.official_names import block_scope
from albert_tf.layers.transformer_stack import layer_schedule

_FEED_FORWARD = ("/ffn_1/", "/LayerNorm_1/")


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
    block_names = {}
    others = {}
    for name, tensor in tensors.items():
        match = re.match(r"(bert/encoder/transformer/group_\d+/inner_group_\d+)", name)
        if match:
            block_names.setdefault(match[1], {})[name.removeprefix(match[1])] = tensor
        else:
            others[name] = tensor
    unshared = {}
    for layer, blocks in enumerate(layer_schedule(config)):
        for inner, (attention_key, feed_forward_key) in enumerate(blocks):
            scope = block_scope(f"{layer}_{inner}")
            for suffix, tensor in block_names[block_scope(attention_key)].items():
                if not suffix.startswith(_FEED_FORWARD):
                    unshared[scope + suffix] = tensor
            for suffix, tensor in block_names[block_scope(feed_forward_key)].items():
                if suffix.startswith(_FEED_FORWARD):
                    unshared[scope + suffix] = tensor
    config = dataclasses.replace(
        config,
        parameter_sharing="all",
        num_hidden_groups=config.num_hidden_layers,
    )
    return config, {**others, **unshared}
