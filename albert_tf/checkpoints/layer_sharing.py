"""Gives the layers of one configuration the weights of another's layers."""

import dataclasses
import re

from albert_tf.checkpoints.albert_names import block_scope
from albert_tf.layers.layer_schedule import layer_schedule

_BLOCK = re.compile(r"(bert/encoder/transformer/group_\d+/inner_group_\d+)/")
_FEED_FORWARD = ("/ffn_1/", "/LayerNorm_1/")
_FIRST_GROUP = "0"


def move_layers(tensors, source, target, init_from_group0=False):
    """Names the tensors of the configuration `source` as `target` needs them.

    Layer i of L takes the parameters of the layer at the same share of the depth,
    `i * S // L` of S. Where layers share parameters, the first of them decides. The
    two differ in nothing but the number of layers and groups and what is shared.

    Args:
        tensors: arrays by official name.
        source: their `AlbertConfig`.
        target: the `AlbertConfig` to name them for.
        init_from_group0: the official rule instead: a group that `source` has, too,
            keeps its parameters, and every other one takes those of group 0.

    Returns:
        The tensors by their new names, and where the blocks come from: a dict of
        official scopes, `{new: (of attention, of the feed-forward layer)}`.
    """
    blocks, others = {}, {}
    for name, tensor in tensors.items():
        match = _BLOCK.match(name)
        if match:
            blocks.setdefault(match[1], {})[name.removeprefix(match[1])] = tensor
        else:
            others[name] = tensor
    origins = _origins(source, target, init_from_group0)
    moved = {}
    for (scope, is_feed_forward), origin in origins.items():
        for suffix, tensor in blocks.get(origin, {}).items():
            if suffix.startswith(_FEED_FORWARD) == is_feed_forward:
                moved[scope + suffix] = tensor
    return {**others, **moved}, origins


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


def _origins(source, target, init_from_group0):
    """`{(new scope, whether of the feed-forward layer): old scope}`."""
    old_layers, new_layers = layer_schedule(source), layer_schedule(target)
    old_keys = {key for blocks in old_layers for block in blocks for key in block}
    origins = {}
    for i, blocks in enumerate(new_layers):
        alike = old_layers[i * len(old_layers) // len(new_layers)]
        for keys, old in zip(blocks, alike, strict=True):
            for part, (key, origin) in enumerate(zip(keys, old, strict=True)):
                if init_from_group0:
                    inner = key.split("_")[1]
                    origin = key if key in old_keys else f"{_FIRST_GROUP}_{inner}"
                place = (block_scope(key), bool(part))
                origins.setdefault(place, block_scope(origin))
    return origins
