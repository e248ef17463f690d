"""The parts of the other layers: config, projections, adapters, norm and dropout."""

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.layers.replaceable import replaceable

# Each dropout of a model is a site: block k has the sites 4k to 4k+3.
SITES_PER_BLOCK = 4
EMBEDDING_SITE = -1
CLASSIFIER_SITE = -2
POSITION_SITE = -3
OUTPUT_SITE = -4

# Odd and far apart modulo 2**32, so that seeds that differ by a small number, such as
# a step counter, never share a mask between different sites.
_STRIDES = (-1640531535, -2048144777)


class ConfiguredLayer(keras.layers.Layer):
    """A layer whose sizes come from a config.

    Args:
        config: a `config_class`.
    """

    config_class = AlbertConfig
    own_arguments = ()
    """Further arguments of the constructor, each an attribute of the same name."""

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config

    def get_config(self):
        own = {name: getattr(self, name) for name in self.own_arguments}
        return {**super().get_config(), "config": self.config.to_dict(), **own}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        return cls(cls.config_class.from_dict(config.pop("config")), **config)

    def _dense(self, units, name, dtype=None, use_bias=True, initializer=None):
        """Creates a projection of the last axis, by default like the official code."""
        return Dense(
            units,
            use_bias=use_bias,
            kernel_initializer=initializer or self._initializer(),
            dtype=dtype or self.dtype_policy,
            name=name,
        )

    def _block_norm(self, name):
        """Creates a layer norm for a block."""
        return LayerNorm(
            self.config,
            use_bias=self.config.has_bias("norm"),
            dtype=self.dtype_policy,
            name=name,
        )

    def _weight(self, name, shape):
        """Adds a weight with the layer's initialiser."""
        return self.add_weight(name=name, shape=shape, initializer=self._initializer())

    def _float32_weight(self, name, shape, initializer):
        """Adds a float32 weight, even in a bfloat16 model."""
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype="float32",
            autocast=False,
        )

    def _initializer(self):
        """Returns the initialiser for weights other than biases and norms."""
        return truncated_normal(self.config.initializer_range)


def refuse_quantization(self, *args, **kwargs):
    """Refuses `keras.Model.quantize`, which would leave the weights as they are."""
    raise UserError(
        f"Keras cannot quantize an {type(self).__name__} of albert_tf; save the model "
        "and export it with albert-tf export --format=onnx "
        "--compute_dtype=int8."
    )


@keras.saving.register_keras_serializable(package="albert_tf")
class Dense(keras.layers.Dense):
    """A `keras.layers.Dense` with fewer operations around the product.

    Keras multiplies three axes by two with `tf.tensordot`, which adds a dozen shape
    operations. This layer flattens `[batch, tokens, width]` to one matrix, which gives
    the same numbers. With bfloat16 variables, which exports have, the outputs are
    float32: on a CPU, TensorFlow adds and multiplies bfloat16 at a third of the speed.

    Call: `[..., width]` to `[..., units]`. `adapter`, a pair of matrices `[width,
    rank]` and `[rank, units]`, adds the product with both.
    """

    quantize = refuse_quantization

    def call(self, inputs, training=None, adapter=None):
        outputs = multiplied(inputs, self.kernel, adapter)
        if self.variable_dtype == "bfloat16":
            outputs = ops.cast(outputs, "float32")
        return outputs if self.bias is None else ops.add(outputs, self.bias)


@replaceable
def multiplied(inputs, kernel, adapter):
    """Multiplies `[..., width]` by a kernel, and an adapter or None: `[..., units]`."""
    *outer, width = ops.shape(inputs)
    inputs = ops.reshape(inputs, (-1, width))
    rows = ops.matmul(inputs, kernel)
    if adapter is not None:
        down, up = adapter
        rows = ops.add(rows, ops.matmul(ops.matmul(inputs, down), up))
    return ops.reshape(rows, (*outer, kernel.shape[1]))


@keras.saving.register_keras_serializable(package="albert_tf")
class LayerNorm(ConfiguredLayer):
    """Normalises the last axis; epsilon is 1e-12 by default (`contrib.layers`).

    The statistics are float32 whatever the compute dtype, because 1e-12 is zero in
    float16. Subtracting the mean first keeps nearly constant rows accurate.

    Args:
        config: an `AlbertConfig`.
        use_bias: whether to add `beta`.

    Call: `[..., width]` to `[..., width]`.
    """

    own_arguments = ("use_bias",)

    def __init__(self, config, use_bias=True, **kwargs):
        super().__init__(config, **kwargs)
        self.use_bias = use_bias
        self.beta = None

    def build(self, input_shape):
        shape = (input_shape[-1],)
        self.gamma = self._float32_weight("gamma", shape, "ones")
        if self.use_bias:
            self.beta = self._float32_weight("beta", shape, "zeros")

    def call(self, inputs):
        inputs = ops.cast(inputs, "float32")
        epsilon = self.config.layer_norm_eps
        outputs = normalized(inputs, self.gamma, self.beta, epsilon)
        return ops.cast(outputs, self.compute_dtype)


@replaceable
def normalized(inputs, gamma, beta, epsilon):
    """Normalises float32 `[..., width]`; see `LayerNorm`. `beta` may be None."""
    centred = inputs - ops.mean(inputs, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
    outputs = centred * ops.rsqrt(variance + epsilon) * gamma
    return outputs if beta is None else outputs + beta


@keras.saving.register_keras_serializable(package="albert_tf")
class DepthAdapters(ConfiguredLayer):
    """A low-rank adapter for each block and each projection that blocks share.

    Block i computes `x kernel + bias + (x down[i]) up[i]` (LoRA, arXiv 2106.09685, one
    per depth as in Relaxed Recursive Transformers, arXiv 2410.20672). New adapters
    change nothing, because `up` is 0.

    The weights are `down`, `[blocks, inputs, rank]`, and `up`, `[blocks, rank,
    outputs]`, by sublayer and projection, with `config.depth_adapter_rank` as the rank.
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
        down = self._weight(f"{name}_down", (blocks, inputs, rank))
        up = self.add_weight(
            name=f"{name}_up", shape=(blocks, rank, outputs), initializer="zeros"
        )
        return down, up

    def of_block(self, i):
        """Returns the adapters of block `i`, an int or int32 scalar, as nested dicts:
        `{sublayer: {projection: (down [inputs, rank], up [rank, outputs])}}`.
        """
        return {
            sublayer: {name: (down[i], up[i]) for name, (down, up) in pairs.items()}
            for sublayer, pairs in self.pairs.items()
        }


def projection(config, units, **arguments):
    """Creates a `Dense` layer with the official initialiser, and other arguments."""
    initializer = truncated_normal(config.initializer_range)
    return Dense(units, kernel_initializer=initializer, **arguments)


def truncated_normal(standard_deviation):
    """Returns the official initialiser, cut at two standard deviations."""
    return keras.initializers.TruncatedNormal(stddev=standard_deviation)


def fold_seed(seed, site):
    """Derives a seed int32 [2] for `site` (an int or int32 scalar) from `seed`.

    Folding is additive: site a of the folded seed b is site a + b.
    """
    seed = ops.cast(seed, "int32")
    return seed + ops.cast(site, "int32") * ops.convert_to_tensor(_STRIDES, "int32")


def dropout(inputs, rate, seed, site):
    """Zeroes a fraction `rate` and scales the rest up; `seed` None is inference."""
    if seed is None or rate == 0:
        return inputs
    return keras.random.dropout(inputs, rate, seed=_FixedSeed(fold_seed(seed, site)))


class _FixedSeed(keras.random.SeedGenerator):
    """A `SeedGenerator` that returns a given seed instead of a variable's state."""

    def __init__(self, seed):
        # The parent's constructor would create a variable in every call.
        dtype = "uint32" if keras.backend.backend() == "jax" else "int32"
        self._seed = ops.cast(seed, dtype)

    def next(self, ordered=True):
        return self._seed
