"""The stack of transformer blocks, with what they share."""

import itertools

import keras

from albert_tf.errors import UserError
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
        depth_loop: run layers with the same parameters in a loop, which is compiled
            once whatever the depth, instead of unrolling them.
        rematerialize: keep only the input of each block for the backward pass, and
            compute the block again there. Neither option changes the numbers.

    Call: hidden `[batch, tokens, hidden]`, `key_bias` float32
    `[batch, 1, 1 or tokens, tokens]`, `seed` int32 `[2]` or None for inference, to the
    list of the outputs of all blocks; with `depth_loop`, of the last block of each
    loop. With `first_token_only` the last block computes its output for the first
    token only, `[batch, 1, hidden]`, which is all that a pooled output needs.

    Raises:
        UserError: an option was asked for that the Keras backend does not have.
    """

    def __init__(self, config, depth_loop=False, rematerialize=False, **kwargs):
        super().__init__(config, **kwargs)
        backend = keras.backend.backend()
        if (depth_loop or rematerialize) and backend != "tensorflow":
            raise UserError(
                "depth_loop and rematerialize need the Keras backend tensorflow, "
                f"not {backend}."
            )
        self.depth_loop = depth_loop
        self.rematerialize = rematerialize
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

    def call(self, hidden, key_bias, seed=None, first_token_only=False):
        hidden_states = []
        index = 0
        schedule = self.layer_schedule
        if first_token_only:
            *whole, (*blocks, last_block) = schedule
            schedule = [*whole, tuple(blocks)] if blocks else whole
        for layer, run in itertools.groupby(schedule):
            count = len(list(run))
            if self.depth_loop and count > 1:
                hidden = self._run_loop(layer, hidden, key_bias, seed, index, count)
                hidden_states.append(hidden)
                index += count * len(layer)
                continue
            for block in layer * count:
                hidden = self._run_block(block, hidden, key_bias, seed, index)
                hidden_states.append(hidden)
                index += 1
        if first_token_only:
            attention, feed_forward, seed = self._block(last_block, seed, index)
            first = attention(hidden, key_bias, seed, first_token_only=True)
            hidden_states.append(feed_forward(first, seed))  # [B, 1, H]
        return hidden_states

    def _run_loop(self, layer, hidden, key_bias, seed, index, count):
        """Runs `count` times the blocks of `layer`, the first being block `index`."""
        from albert_tf.layers import depth

        def run_layer(i, hidden):
            for inner, block in enumerate(layer):
                number = index + i * len(layer) + inner
                hidden = self._run_block(block, hidden, key_bias, seed, number)
            return hidden

        return depth.loop(run_layer, hidden, count)

    def _run_block(self, block, hidden, key_bias, seed, index):
        """Runs the block with number `index` (an int or int32 scalar)."""
        attention, feed_forward, seed = self._block(block, seed, index)

        def compute(hidden):
            return feed_forward(attention(hidden, key_bias, seed), seed)

        if not self.rematerialize:
            return compute(hidden)
        from albert_tf.layers import depth

        variables = attention.trainable_variables + feed_forward.trainable_variables
        return depth.rematerialize(compute, variables, hidden)

    def _block(self, block, seed, index):
        """The two layers of the block with number `index`, and its seed."""
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        return self.attention[block[0]], self.feed_forward[block[1]], seed

    def get_config(self):
        return {
            **super().get_config(),
            "depth_loop": self.depth_loop,
            "rematerialize": self.rematerialize,
        }


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
