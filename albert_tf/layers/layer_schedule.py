"""Sharing of parameters among the layers of a configuration."""


def layer_schedule(config):
    """Lists each layer's blocks as (attention key, feed-forward key).

    A key "g_j" names the parameters of inner block j of group g; where layers
    share nothing, g counts layers.
    """
    share_attention = config.parameter_sharing in ("all", "attention")
    share_feed_forward = config.parameter_sharing in ("all", "ffn")

    def layer_blocks(layer):
        group = config.group_of_layer(layer)
        attention_group = group if share_attention else layer
        feed_forward_group = group if share_feed_forward else layer
        return tuple(
            (f"{attention_group}_{inner}", f"{feed_forward_group}_{inner}")
            for inner in range(config.inner_group_num)
        )

    return tuple(layer_blocks(layer) for layer in range(config.num_hidden_layers))


def adapted_products(config):
    """Lists the products that blocks share, if the configuration has depth adapters.

    Returns:
        `{sublayer: {projection: (inputs, outputs)}}`; empty without adapters.
    """
    if not config.depth_adapter_rank:
        return {}
    hidden, inner = config.hidden_size, config.intermediate_size
    names = ("query", "key", "value", "output_dense")
    attention = dict.fromkeys(names, (hidden, hidden))
    gate = {"gate": (hidden, inner)} if config.is_gated else {}
    feed_forward = {"intermediate": (hidden, inner), **gate}
    feed_forward["output_dense"] = (inner, hidden)
    return {
        "all": {"attention": attention, "feed_forward": feed_forward},
        "attention": {"attention": attention},
        "ffn": {"feed_forward": feed_forward},
    }[config.parameter_sharing]
