"""The stack of XLNet's blocks, with their shared parameters."""

import itertools

import keras

from albert_tf.layers.base import SITES_PER_BLOCK
from albert_tf.layers.base import fold_seed
from albert_tf.layers.transformer_stack import TransformerStack
from albert_tf.models.xlnet.layers import RelativeAttention
from albert_tf.models.xlnet.layers import XLNetFeedForward
from albert_tf.models.xlnet.layers import XLNetLayer

_RELATIVE_BIASES = ("r_w_bias", "r_r_bias", "r_s_bias")


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetStack(XLNetLayer, TransformerStack):
    """All layers of XLNet; official `transformer_xl`.

    Layers share parameters as in `TransformerStack`. The biases of relative attention
    and the embeddings of segments lie in the stack, as in official checkpoints, one row
    for each attention: layers that share their attention share these, too. With
    `config.untie_r` off there is one row of biases for all layers.

    Call: hidden `[batch, S + P, width]`, `view`, an `AttentionView`, `seed` int32 `[2]`
    or None for inference; to the outputs of `TransformerStack`, of both streams.
    """

    attention_class = RelativeAttention
    feed_forward_class = XLNetFeedForward

    def build(self, input_shape=None):
        super().build(input_shape)
        config = self.config
        head = (config.n_head, config.d_head)
        sets = len(self.attention)
        shape = (sets, *head) if config.untie_r else head
        biases = {
            name: self.add_weight(
                name=name, shape=shape, initializer=self._initializer()
            )
            for name in _RELATIVE_BIASES
        }
        self.r_w_bias = biases["r_w_bias"]
        self.r_r_bias = biases["r_r_bias"]
        self.r_s_bias = biases["r_s_bias"]
        self.seg_embed = self.add_weight(
            name="seg_embed", shape=(sets, 2, *head), initializer=self._initializer()
        )

    def _variables(self, blocks):
        own = [getattr(self, name) for name in (*_RELATIVE_BIASES, "seg_embed")]
        return [*super()._variables(blocks), *own]

    def _run_block(self, block, hidden, view, seed, index):
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        attention, feed_forward = self.attention[block[0]], self.feed_forward[block[1]]
        memories = view.memories
        hidden = attention(
            hidden,
            view=view,
            biases=self._biases(block[0]),
            memory=None if memories is None else memories[:, index],
            seed=seed,
        )
        return feed_forward(hidden, seed)

    def attentions(self, block_inputs, view):
        blocks = itertools.chain.from_iterable(self.layer_schedule)
        return [
            self.attention[key].probabilities(hidden, view, self._biases(key))
            for (key, _), hidden in zip(blocks, block_inputs, strict=True)
        ]

    def _biases(self, attention_key):
        row = list(self.attention).index(attention_key)
        biases = {name: getattr(self, name) for name in _RELATIVE_BIASES}
        if self.config.untie_r:
            biases = {name: bias[row] for name, bias in biases.items()}
        return {**biases, "seg_embed": self.seg_embed[row]}
