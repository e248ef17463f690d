"""Depth adapters of a checkpoint: added to its products, or found from layers."""

import dataclasses

import numpy as np

from albert_tf.families.albert_names import ADAPTERS
from albert_tf.families.albert_names import adapted_scopes
from albert_tf.families.albert_names import adapter_names
from albert_tf.families.albert_names import block_scope
from albert_tf.families.layer_sharing import as_unshared
from albert_tf.families.layer_sharing import move_layers


def merge_adapters(config, tensors):
    """Returns the same function without adapters: each layer has its own products.

    Args:
        config: an `AlbertConfig`.
        tensors: arrays by official name.

    Returns:
        (config, tensors), unchanged without adapters.
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
    """Names tensors as `move_layers`, and finds the adapters that `target` has.

    Where depth, sharing and rank are the same, adapters stay as they are. Otherwise
    those of a block are the best approximation, of their rank, to the difference of its
    products from the shared ones: a singular value decomposition, as Relaxed Recursive
    Transformers begin (arXiv 2410.20672, section 3.2). `down` has columns of at least a
    new one's length, so that all of them train.

    Args and Returns:
        as of `move_layers`.
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
        shared = [moved[f"{block}/{name}"] for block in _shared_scopes(target, scope)]
        blocks = [own[f"{block}/{name}"] for block in _scopes(unshared)]
        pairs = [
            _decomposed(np.subtract(block, of_all), rank, target.initializer_range)
            for block, of_all in zip(blocks, shared, strict=True)
        ]
        stacked = map(np.stack, zip(*pairs, strict=True))
        moved |= zip(adapter_names(scope), stacked, strict=True)
    return moved, origins


def _scopes(config):
    """Lists the scope of the attention of each block, in order."""
    return _shared_scopes(config, "attention")


def _shared_scopes(config, projection):
    """Lists the scope of the block whose product `projection` each block computes."""
    part = 0 if projection.startswith("attention") else 1
    return [
        block_scope(block[part]) for layer in config.layer_schedule() for block in layer
    ]


def _decomposed(difference, rank, deviation):
    """Returns `down` and `up`, float32, whose product is nearest to `difference`.

    Args:
        difference: `[inputs, outputs]`.
        rank: of the product.
        deviation: the standard deviation of new weights.
    """
    left, values, right = np.linalg.svd(np.float64(difference), full_matrices=False)
    left, values, right = left[:, :rank], values[:rank], right[:rank]
    lengths = np.maximum(np.sqrt(values), deviation * len(left) ** 0.5)
    down, up = left * lengths, (values / lengths)[:, None] * right
    return down.astype(np.float32), up.astype(np.float32)
