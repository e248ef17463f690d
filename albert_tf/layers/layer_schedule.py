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
