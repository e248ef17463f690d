"""Conversion of weights between configurations that differ in depth or sharing."""

import dataclasses
import re

import numpy as np

from albert_tf.families.albert_names import ADAPTERS
from albert_tf.families.albert_names import adapted_scopes
from albert_tf.families.albert_names import adapter_names
from albert_tf.families.albert_names import block_scope

_BLOCK = re.compile(r"(bert/encoder/transformer/group_\d+/inner_group_\d+)/")
_FEED_FORWARD = ("/ffn_1/", "/LayerNorm_1/")
_FIRST_GROUP = "0"
FIRST, MEAN, GROUP0 = "first", "mean", "group0"
"""Rules for parameters that replace several layers; see `move_layers`."""


def move_layers(tensors, source, target, rule=FIRST):
    """Renames the tensors of the configuration `source` for the configuration `target`.

    Layer i of L replaces the layers at the same relative depth: from `i * S // L` of S
    up to the next layer's. The two configurations may differ only in the numbers of
    layers and groups and in sharing.

    Args:
        tensors: arrays by official name.
        source, target: `AlbertConfig`s.
        rule: `FIRST`: each layer takes the parameters of the first layer that it
            replaces; `MEAN`: the mean over these layers; `GROUP0`, the official rule:
            groups of `source` keep their parameters, and new ones copy group 0.

    Returns:
        The tensors by their new names, and the origins of the blocks: a dict from
        `(new scope, is feed-forward)` to a list of old scopes.
    """
    blocks, others = {}, {}
    for name, tensor in tensors.items():
        match = _BLOCK.match(name)
        if match:
            blocks.setdefault(match[1], {})[name.removeprefix(match[1])] = tensor
        else:
            others[name] = tensor
    origins = _origins(source, target, rule)
    moved = {}
    for (scope, is_feed_forward), scopes in origins.items():
        found = [blocks.get(origin, {}) for origin in scopes]
        for suffix in found[0]:
            is_whole = all(suffix in block for block in found)
            if is_whole and suffix.startswith(_FEED_FORWARD) == is_feed_forward:
                moved[scope + suffix] = _mean([block[suffix] for block in found])
    return {**others, **moved}, origins


def unshare(config, tensors):
    """Converts to the same function with `parameter_sharing="all"`.

    If layers share only some sublayers, which neither the official code nor Hugging
    Face can express, every layer becomes its own group.
    """
    if config.parameter_sharing == "all":
        return config, tensors
    unshared = dataclasses.replace(
        config, parameter_sharing="all", num_hidden_groups=config.num_hidden_layers
    )
    tensors, _ = move_layers(tensors, config, unshared)
    return unshared, tensors


def as_unshared(config, tensors):
    """Converts config and tensors to the same function without sharing."""
    unshared = dataclasses.replace(
        config, parameter_sharing="none", num_hidden_groups=1
    )
    return unshared, move_layers(tensors, config, unshared)[0]


def _origins(source, target, rule):
    """Returns `{(new scope, is feed-forward): old scopes}`."""
    old_layers, new_layers = source.layer_schedule(), target.layer_schedule()
    old_keys = {key for blocks in old_layers for block in blocks for key in block}
    origins = {}
    for blocks, alike in _alike(new_layers, old_layers):
        for keys, old in zip(blocks, alike, strict=True):
            for part, (key, origin) in enumerate(zip(keys, old, strict=True)):
                if rule == GROUP0:
                    inner = key.split("_")[1]
                    origin = key if key in old_keys else f"{_FIRST_GROUP}_{inner}"
                place = (block_scope(key), bool(part))
                origins.setdefault(place, []).append(block_scope(origin))
    return {
        place: scopes if rule == MEAN and len(set(scopes)) > 1 else scopes[:1]
        for place, scopes in origins.items()
    }


def _alike(new_layers, old_layers):
    """Yields pairs of a new layer and an old layer that it replaces, in order."""
    for i, new in enumerate(new_layers):
        first, end = (n * len(old_layers) // len(new_layers) for n in (i, i + 1))
        for old in old_layers[first : max(end, first + 1)]:
            yield new, old


def _mean(tensors):
    if len(tensors) == 1:
        return tensors[0]
    # In float64, so that the mean of equal numbers is exact.
    return np.mean(tensors, axis=0, dtype=np.float64).astype(tensors[0].dtype)


def merge_adapters(config, tensors):
    """Converts config and tensors to the same function without depth adapters.

    Each layer then has its own projections.
    """
    if not config.depth_adapter_rank:
        return config, tensors
    own = {n: t for n, t in tensors.items() if not n.startswith(f"{ADAPTERS}/")}
    merged, own = as_unshared(dataclasses.replace(config, depth_adapter_rank=0), own)
    for scope in adapted_scopes(config):
        down, up = (tensors[name] for name in adapter_names(scope))
        for block, difference in zip(_scopes(merged), down @ up, strict=True):
            own[f"{block}/{scope}/kernel"] = own[f"{block}/{scope}/kernel"] + difference
    return merged, own


def move_layers_and_adapters(tensors, source, target, rule):
    """Renames tensors like `move_layers`, and computes the adapters of `target`.

    Adapters stay unchanged if depth, sharing and rank are the same. Otherwise each is
    the best approximation of its rank to the difference between a block's projection
    and the shared one: a singular value decomposition, the initialisation of Relaxed
    Recursive Transformers (arXiv 2410.20672, section 3.2). The columns of `down` are at
    least as long as newly initialised ones, so that all of them train.
    """
    rank = target.depth_adapter_rank
    same = source.layer_schedule() == target.layer_schedule()
    if source.depth_adapter_rank == rank and (same or not rank):
        return move_layers(tensors, source, target, rule)
    source, tensors = merge_adapters(source, tensors)
    moved, origins = move_layers(tensors, source, target, rule)
    unshared, _ = as_unshared(dataclasses.replace(target, depth_adapter_rank=0), {})
    own, _ = move_layers(tensors, source, unshared, rule)
    for scope in adapted_scopes(target):
        name = f"{scope}/kernel"
        shared = [moved[f"{block}/{name}"] for block in _scopes(target, scope)]
        blocks = [own[f"{block}/{name}"] for block in _scopes(unshared)]
        pairs = [
            _decomposed(np.subtract(block, of_all), rank, target.initializer_range)
            for block, of_all in zip(blocks, shared, strict=True)
        ]
        stacked = map(np.stack, zip(*pairs, strict=True))
        moved |= zip(adapter_names(scope), stacked, strict=True)
    return moved, origins


def _scopes(config, projection="attention"):
    """Lists, for each block, the scope of the block that holds its `projection`."""
    part = 0 if projection.startswith("attention") else 1
    return [
        block_scope(block[part]) for layer in config.layer_schedule() for block in layer
    ]


def _decomposed(difference, rank, deviation):
    """Returns float32 `down` and `up` whose product of `rank` is nearest.

    `deviation`, the standard deviation of new weights, sets the minimal column length.
    """
    left, values, right = np.linalg.svd(np.float64(difference), full_matrices=False)
    left, values, right = left[:, :rank], values[:rank], right[:rank]
    lengths = np.maximum(np.sqrt(values), deviation * len(left) ** 0.5)
    down, up = left * lengths, (values / lengths)[:, None] * right
    return down.astype(np.float32), up.astype(np.float32)
