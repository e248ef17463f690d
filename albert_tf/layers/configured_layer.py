"""The base of all ALBERT layers: a config, projections, weights and serialisation."""

import keras
from keras import ops

from albert_tf.config import AlbertConfig


class ConfiguredLayer(keras.layers.Layer):
    """A layer whose sizes come from a config.

    Args:
        config: a `config_class`.
    """

    config_class = AlbertConfig

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config

    def get_config(self):
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        return cls(cls.config_class.from_dict(config.pop("config")), **config)

    def _dense(self, units, name, dtype=None, use_bias=True, initializer=None):
        """Creates a projection of the last axis.

        By default it has the official initialiser and the layer's dtype policy.
        """
        return Dense(
            units,
            use_bias=use_bias,
            kernel_initializer=initializer or self._initializer(),
            dtype=dtype or self.dtype_policy,
            name=name,
        )

    def _float32_weight(self, name, shape, initializer):
        """Adds a weight of float32 computations, even in a model of bfloat16."""
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype="float32",
            autocast=False,
        )

    def _initializer(self):
        """Returns the initialiser of all weights but biases and normalisations."""
        return truncated_normal(self.config.initializer_range)


@keras.saving.register_keras_serializable(package="albert_tf")
class Dense(keras.layers.Dense):
    """A `keras.layers.Dense` with fewer operations around the product.

    Keras contracts three axes with two by `tf.tensordot`, a dozen operations on shapes.
    Here the rows of `[batch, tokens, width]` make one matrix, which gives the same
    numbers. With bfloat16 variables, which exports have, the outputs are float32:
    on a CPU, TensorFlow adds and multiplies bfloat16 at a third of the speed.

    Call: `[..., width]` to `[..., units]`; with `adapter`, a pair of matrices `[width,
    rank]` and `[rank, units]`, to the sum of this product and the one by both.
    """

    def call(self, inputs, training=None, adapter=None):
        *outer, width = ops.shape(inputs)
        inputs = ops.reshape(inputs, (-1, width))
        rows = ops.matmul(inputs, self.kernel)
        if adapter is not None:
            down, up = adapter
            rows = ops.add(rows, ops.matmul(ops.matmul(inputs, down), up))
        if self.variable_dtype == "bfloat16":
            rows = ops.cast(rows, "float32")
        outputs = ops.reshape(rows, (*outer, self.units))
        return outputs if self.bias is None else ops.add(outputs, self.bias)


def truncated_normal(standard_deviation):
    """Returns the official initialiser, cut at two standard deviations."""
    return keras.initializers.TruncatedNormal(stddev=standard_deviation)
