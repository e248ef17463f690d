"""Low-rank additions to shared products, by which the blocks differ."""

import keras

from albert_tf.layers.base import ConfiguredLayer


@keras.saving.register_keras_serializable(package="albert_tf")
class DepthAdapters(ConfiguredLayer):
    """An adapter for each block and each product that blocks share.

    Block i computes `x kernel + bias + (x down[i]) up[i]` (LoRA, arXiv 2106.09685, one
    a depth as in Relaxed Recursive Transformers, arXiv 2410.20672). New ones change
    nothing: `up` is 0.

    The weights are `down`, `[blocks, inputs, rank]`, and `up`, `[blocks, rank,
    outputs]`, by sublayer and projection, with `config.depth_adapter_rank` as the rank.

    Args:
        config: an `AlbertConfig`.
    """

    def build(self, input_shape=None):
        self.pairs = {
            sublayer: {
                name: self._pair(f"{sublayer}_{name}", *sides)
                for name, sides in products.items()
            }
            for sublayer, products in self.config.adapted_products().items()
        }

    def _pair(self, name, inputs, outputs):
        config = self.config
        blocks = config.num_hidden_layers * config.inner_group_num
        rank = config.depth_adapter_rank
        down = self.add_weight(
            name=f"{name}_down",
            shape=(blocks, inputs, rank),
            initializer=self._initializer(),
        )
        up = self.add_weight(
            name=f"{name}_up", shape=(blocks, rank, outputs), initializer="zeros"
        )
        return down, up

    def of_block(self, i):
        """Returns the adapters of block `i`, an int or int32 scalar.

        Returns:
            `{sublayer: {projection: (down [inputs, rank], up [rank, outputs])}}`.
        """
        return {
            sublayer: {name: (down[i], up[i]) for name, (down, up) in pairs.items()}
            for sublayer, pairs in self.pairs.items()
        }
