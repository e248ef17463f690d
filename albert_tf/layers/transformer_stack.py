"""The stack of transformer blocks, with their shared parameters."""

import dataclasses
import itertools

import keras

from albert_tf.errors import UserError
from albert_tf.layers.base import SITES_PER_BLOCK
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import DepthAdapters
from albert_tf.layers.base import fold_seed
from albert_tf.layers.relative_positions import RelativePositions
from albert_tf.layers.sublayers import FeedForward
from albert_tf.layers.sublayers import SelfAttention


@keras.saving.register_keras_serializable(package="albert_tf")
class TransformerStack(ConfiguredLayer):
    """All layers of the encoder; official `transformer_model`.

    Layer i belongs to group `config.group_of_layer(i)` and runs
    `config.inner_group_num` distinct blocks. `config.parameter_sharing` says which
    sublayers the layers of a group share. With `config.norm` "pre", `output_of` applies
    a final layer norm.

    Args:
        config: an `AlbertConfig`.
        depth_loop: run layers with the same parameters in a loop, which is compiled
            once whatever the depth, instead of unrolling them; same numbers.
        rematerialize: keep only the input of each block for the backward pass, which
            computes the block again; same numbers.

    Call: hidden `[batch, tokens, hidden]`, the batch's `AttentionMask`, and `seed`,
    int32 `[2]` or None for inference; returns the list of all blocks' outputs, or with
    `depth_loop` the output of each loop. With `pick`, the argument of
    `AttentionMask.of_rows`, the last block computes only the picked tokens, `[batch,
    outputs, hidden]`. With `first`, the number of a block, earlier blocks are skipped.

    Raises:
        UserError: the Keras backend does not support an option.
    """

    attention_class = SelfAttention
    feed_forward_class = FeedForward
    own_arguments = ("depth_loop", "rematerialize")

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
        self.layer_schedule = config.layer_schedule()
        classes = {
            "attention": self.attention_class,
            "feed_forward": self.feed_forward_class,
        }
        made = {kind: {} for kind in classes}
        # Block by block: the order decides which weights a seed draws for each.
        for number, block in enumerate(itertools.chain(*self.layer_schedule)):
            for kind, key in zip(classes, block, strict=True):
                if key not in made[kind]:
                    is_bare = kind == "attention" and number == 0
                    is_bare = is_bare and not config.norms_first_input
                    made[kind][key] = classes[kind](
                        config,
                        dtype=self.dtype_policy,
                        name=f"{kind}_{key}",
                        **({"is_normed": False} if is_bare else {}),
                    )
        self.attention, self.feed_forward = made["attention"], made["feed_forward"]
        self.adapters = self.relative_positions = self.final_norm = None
        policy = self.dtype_policy
        if config.depth_adapter_rank:
            self.adapters = DepthAdapters(config, dtype=policy, name="depth_adapters")
        if config.is_disentangled:
            self.relative_positions = RelativePositions(
                config, dtype=policy, name="relative_positions"
            )
        if config.norm == "pre":
            self.final_norm = self._block_norm("final_layer_norm")

    @property
    def output_shape(self):
        """Shape of each block's output, as `summary` of a model shows it."""
        return (None, None, self.config.hidden_size)

    def build(self, input_shape=None):
        for layer in (*self.attention.values(), *self.feed_forward.values()):
            layer.build()
        for layer in (self.adapters, self.relative_positions):
            if layer is not None:
                layer.build()
        if self.final_norm is not None:
            self.final_norm.build((None, None, self.config.hidden_size))

    def call(self, hidden, attention_mask, seed=None, pick=None, first=0):
        last = len(self.layer_schedule) * self.config.inner_group_num
        if pick is None:
            return self.run(hidden, attention_mask, first, last, seed)
        states = self.run(hidden, attention_mask, first, last - 1, seed)
        hidden = states[-1] if states else hidden
        attention_mask = attention_mask.of_rows(pick)
        return [*states, *self.run(hidden, attention_mask, last - 1, last, seed)]

    def run(self, hidden, attention_mask, first, last, seed=None):
        """Runs the blocks `first` to `last - 1`; returns outputs like the call."""
        states, index = [], first
        for layer, run in itertools.groupby(self._layers_between(first, last)):
            blocks = layer * len(list(run))
            if self.depth_loop and len(blocks) > len(layer):
                outputs = [
                    self._run_loop(layer, blocks, hidden, attention_mask, seed, index)
                ]
            else:
                outputs = self._unroll(blocks, hidden, attention_mask, seed, index)
            states += outputs
            hidden = outputs[-1]
            index += len(blocks)
        return states

    def run_layer(self, layer, hidden, attention_mask, index, seed=None):
        """Runs the blocks of a layer, an item of `layer_schedule`.

        `index` is the number of its first block, an int or int32 scalar. Returns the
        last output, `[batch, tokens, hidden]`.
        """
        for inner, block in enumerate(layer):
            hidden = self._run_block(block, hidden, attention_mask, seed, index + inner)
        return hidden

    def output_of(self, hidden):
        """Returns a block's output as heads read it, `[batch, tokens, hidden]`."""
        return hidden if self.final_norm is None else self.final_norm(hidden)

    def attentions(self, block_inputs, attention_mask):
        """Computes the attention probabilities of each block, before dropout.

        Args:
            block_inputs: the input of each block, `[batch, tokens, hidden]`.
            attention_mask: as for the call.

        Returns:
            A list of float32 `[batch, heads, tokens, tokens]`; rows sum to 1.
        """
        blocks = itertools.chain.from_iterable(self.layer_schedule)
        return [
            self._probabilities(key, hidden, attention_mask, index)
            for index, ((key, _), hidden) in enumerate(
                zip(blocks, block_inputs, strict=True)
            )
        ]

    def _probabilities(self, key, hidden, attention_mask, index):
        adapters = self._adapters(index).get("attention")
        return self.attention[key].probabilities(
            hidden, self._mask(attention_mask, index), adapters
        )

    def _layers_between(self, first, last):
        """Lists the blocks `first` to `last - 1`, one list per layer."""
        blocks = self.config.inner_group_num
        for number, layer in enumerate(self.layer_schedule):
            start = number * blocks
            part = layer[max(first - start, 0) : max(last - start, 0)]
            if part:
                yield part

    def _run_loop(self, layer, blocks, hidden, attention_mask, seed, index):
        """Runs `blocks`, repetitions of `layer`; the first one is block `index`."""
        from albert_tf.layers import rematerialization

        def run_layer(i, hidden):
            number = index + i * len(layer)
            return self.run_layer(layer, hidden, attention_mask, number, seed)

        count = len(blocks) // len(layer)
        if not self.rematerialize:
            return rematerialization.depth_loop(run_layer, hidden, count)
        variables = self._variables(layer)
        return rematerialization.rematerialized_loop(
            run_layer, variables, hidden, count
        )

    def _unroll(self, blocks, hidden, attention_mask, seed, index):
        """Returns the outputs of `blocks`; the first one is block `index`."""

        def run_block(i, hidden):
            return self._run_block(blocks[i], hidden, attention_mask, seed, index + i)

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
        """Lists the trainable variables of `blocks`, each once."""
        layers = [
            layer
            for attention_key, feed_forward_key in blocks
            for layer in (
                self.attention[attention_key],
                self.feed_forward[feed_forward_key],
            )
        ]
        layers += [x for x in (self.adapters, self.relative_positions) if x is not None]
        return [v for layer in dict.fromkeys(layers) for v in layer.trainable_variables]

    def _mask(self, attention_mask, index):
        """Returns the `AttentionMask` of block `index`, with the vectors of distances.

        A block computes them itself, so that rematerialisation finds their gradient.
        """
        attention_mask = attention_mask.of_block(index)
        if self.relative_positions is None:
            return attention_mask
        vectors = self.relative_positions.vectors()
        return dataclasses.replace(attention_mask, vectors=vectors)

    def _adapters(self, index):
        """Returns the adapters of block `index` by sublayer; {} without adapters."""
        return {} if self.adapters is None else self.adapters.of_block(index)

    def _run_block(self, block, hidden, attention_mask, seed, index):
        """Runs the block with number `index` (an int or int32 scalar)."""
        if seed is not None:
            seed = fold_seed(seed, index * SITES_PER_BLOCK)
        recompute = None
        if self.rematerialize:
            from albert_tf.layers.rematerialization import recompute
        attention, feed_forward = self.attention[block[0]], self.feed_forward[block[1]]
        attention_mask, adapters = (
            self._mask(attention_mask, index),
            self._adapters(index),
        )
        hidden = attention(
            hidden,
            attention_mask=attention_mask,
            seed=seed,
            recompute=recompute,
            adapters=adapters.get("attention"),
        )
        return feed_forward(hidden, seed, adapters=adapters.get("feed_forward"))
