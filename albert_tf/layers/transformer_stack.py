"""The stack of transformer blocks, with what they share."""

import itertools

import keras

from albert_tf.errors import UserError
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.dropout import SITES_PER_BLOCK
from albert_tf.layers.dropout import fold_seed
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.layer_schedule import layer_schedule


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

    Call: hidden `[batch, tokens, hidden]`, `attention_bias` float32
    `[batch, 1, 1 or tokens, tokens]`, `seed` int32 `[2]` or None for inference, to the
    list of the outputs of all blocks; with `depth_loop`, of the last block of each
    loop. With `tokens_for_heads`, a function that picks tokens, from `[batch, tokens,
    width]` to `[batch, outputs, width]`, the last block computes its output for those
    only, `[batch, outputs, hidden]`.

    Raises:
        UserError: an option was asked for that the Keras backend does not have.
    """

    attention_class = SelfAttention
    feed_forward_class = FeedForward

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
                        self.attention_class, "attention", attention_key
                    )
                if feed_forward_key not in feed_forward:
                    feed_forward[feed_forward_key] = self._sublayer(
                        self.feed_forward_class, "feed_forward", feed_forward_key
                    )
        self.attention = attention
        self.feed_forward = feed_forward

    def _sublayer(self, layer_class, kind, key):
        return layer_class(self.config, dtype=self.dtype_policy, name=f"{kind}_{key}")

    @property
    def output_shape(self):
        """Shape of each block's output, as `summary` of a model shows it."""
        return (None, None, self.config.hidden_size)

    def _sublayers(self):
        return [*self.attention.values(), *self.feed_forward.values()]

    def build(self, input_shape=None):
        for layer in self._sublayers():
            layer.build()

    def call(self, hidden, attention_bias, seed=None, tokens_for_heads=None):
        hidden_states = []
        index = 0
        schedule = self.layer_schedule
        if tokens_for_heads is not None:
            *whole, (*blocks, last_block) = schedule
            schedule = [*whole, tuple(blocks)] if blocks else whole
        for layer, run in itertools.groupby(schedule):
            blocks = layer * len(list(run))
            if self.depth_loop and len(blocks) > len(layer):
                outputs = [
                    self._run_loop(layer, blocks, hidden, attention_bias, seed, index)
                ]
            else:
                outputs = self._unroll(blocks, hidden, attention_bias, seed, index)
            hidden_states += outputs
            hidden = outputs[-1]
            index += len(blocks)
        if tokens_for_heads is not None:
            # [B, K, H]
            last = self._unroll(
                [last_block], hidden, attention_bias, seed, index, tokens_for_heads
            )
            hidden_states += last
        return hidden_states

    def attentions(self, block_inputs, attention_bias):
        """How much tokens attend to each other, before dropout.

        Args:
            block_inputs: for each block its input, `[batch, tokens, hidden]`.
            attention_bias: as of the call.

        Returns:
            For each block float32 `[batch, heads, tokens, tokens]`; rows sum to 1.
        """
        blocks = itertools.chain.from_iterable(self.layer_schedule)
        return [
            self.attention[key].probabilities(hidden, attention_bias)
            for (key, _), hidden in zip(blocks, block_inputs, strict=True)
        ]

    def _run_loop(self, layer, blocks, hidden, attention_bias, seed, index):
        """Runs `blocks`, repetitions of `layer`, the first being block `index`."""

        def run_layer(i, hidden):
            for inner, block in enumerate(layer):
                number = index + i * len(layer) + inner
                hidden = self._run_block(block, hidden, attention_bias, seed, number)
            return hidden

        from albert_tf.layers import rematerialization

        count = len(blocks) // len(layer)
        if not self.rematerialize:
            return rematerialization.depth_loop(run_layer, hidden, count)
        variables = self._variables(layer)
        return rematerialization.rematerialized_loop(
            run_layer, variables, hidden, count
        )

    def _unroll(
        self, blocks, hidden, attention_bias, seed, index, tokens_for_heads=None
    ):
        """Returns the outputs of `blocks`, the first being block `index`."""

        def run_block(i, hidden):
            return self._run_block(
                blocks[i], hidden, attention_bias, seed, index + i, tokens_for_heads
            )

        if not self.rematerialize:
            outputs = []
            for i in range(len(blocks)):
                hidden = run_block(i, hidden)
                outputs.append(hidden)
            return outputs

        from albert_tf.layers.rematerialization import rematerialize

        variables = self._variables(blocks)
        return rematerialize(run_block, variables, hidden, len(blocks))

    def _variables(self, blocks):
        """The trainable variables of `blocks`, each once."""
        layers = [
            layer
            for attention_key, feed_forward_key in blocks
            for layer in (
                self.attention[attention_key],
                self.feed_forward[feed_forward_key],
            )
        ]
        return [v for layer in dict.fromkeys(layers) for v in layer.trainable_variables]

    def _run_block(
        self, block, hidden, attention_bias, seed, index, tokens_for_heads=None
    ):
        """Runs the block with number `index` (an int or int32 scalar)."""
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        recompute = None
        if self.rematerialize:
            from albert_tf.layers.rematerialization import recompute
        attention, feed_forward = self.attention[block[0]], self.feed_forward[block[1]]
        hidden = attention(
            hidden,
            attention_bias,
            seed,
            tokens_for_heads=tokens_for_heads,
            recompute=recompute,
        )
        return feed_forward(hidden, seed)

    def get_config(self):
        return {
            **super().get_config(),
            "depth_loop": self.depth_loop,
            "rematerialize": self.rematerialize,
        }
