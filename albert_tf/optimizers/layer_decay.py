"""Layer-wise decay of the learning rate for fine-tuning, with shared parameters."""

from albert_tf.layers.layer_schedule import layer_schedule


def layer_factors(config, decay):
    """Returns factors of the rate by depth (Howard and Ruder, arXiv 1801.06146).

    Shared parameters of ALBERT have one learning rate, so depth is counted in sets of
    parameters, not in layers: the top set has the factor `decay`, the one below
    `decay ** 2`, and so on to the embeddings, whose projection goes with them. A
    sublayer that sets share counts as part of the highest, as do depth adapters. The
    pooler and the heads keep the full rate. With all layers shared: head 1, layers
    `decay`, embeddings `decay ** 2`.

    Args:
        config: an `AlbertConfig`.
        decay: factor from a set of parameters to the one below, 1 for none.

    Returns:
        `{part of a variable's path: factor}`, as `MomentsOptimizer` takes it.
    """
    blocks = [block for layer in layer_schedule(config) for block in layer]
    sets = list(dict.fromkeys(blocks))
    factors = {}
    for depth, (attention, feed_forward) in enumerate(sets):
        factors[f"attention_{attention}"] = decay ** (len(sets) - depth)
        factors[f"feed_forward_{feed_forward}"] = decay ** (len(sets) - depth)
    if config.depth_adapter_rank:
        factors["depth_adapters"] = decay
    for name in ("embeddings", "embedding_mapping"):
        factors[name] = decay ** (len(sets) + 1)
    return factors
