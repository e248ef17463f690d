"""The stack of transformer blocks, with what they share."""

import keras

from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.dropout import SITES_PER_BLOCK
from albert_tf.layers.dropout import fold_seed
from albert_tf.layers.feed_forward import FeedForward


@keras.saving.register_keras_serializable(package="albert_tf")
class TransformerStack(ConfiguredLayer):
    """All layers of the encoder; official `transformer_model`.

    Layer i belongs to group `config.group_of_layer(i)` and runs
    `config.inner_group_num` distinct blocks. `config.parameter_sharing` says
    which sublayers the layers of a group share.

    Args:
        config: an `AlbertConfig`.

    Call: hidden `[batch, tokens, hidden]`, `key_bias` float32
    `[batch, 1, 1, tokens]`, `seed` int32 `[2]` or None for inference, to the list
    of the outputs of all blocks.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_schedule = layer_schedule(config)
        attention, feed_forward = {}, {}
        for blocks in self.layer_schedule:
            for attention_key, feed_forward_key in blocks:
                if attention_key not in attention:
                    attention[attention_key] = self._sublayer(
                        SelfAttention, "attention", attention_key
                    )
                if feed_forward_key not in feed_forward:
                    feed_forward[feed_forward_key] = self._sublayer(
                        FeedForward, "feed_forward", feed_forward_key
                    )
        self.attention = attention
        self.feed_forward = feed_forward

    def _sublayer(self, layer_class, kind, key):
        return layer_class(self.config, dtype=self.dtype_policy, name=f"{kind}_{key}")

    def build(self, input_shape=None):
        for layer in [*self.attention.values(), *self.feed_forward.values()]:
            layer.build()

    def call(self, hidden, key_bias, seed=None):
        hidden_states = []
        for layer in self.layer_schedule:
            for block in layer:
                index = len(hidden_states)
                hidden = self.run_block(block, hidden, key_bias, seed, index)
                hidden_states.append(hidden)
        return hidden_states

    def run_block(self, block, hidden, key_bias, seed, index):
        """Computes the block with number `index` (an int or int32 scalar)."""
        attention_key, feed_forward_key = block
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        hidden = self.attention[attention_key](hidden, key_bias, seed)
        return self.feed_forward[feed_forward_key](hidden, seed)


def layer_schedule(config):
    """For each layer, its blocks as (attention key, feed-forward key).

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
