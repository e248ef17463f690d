"""Layer normalisation in float32."""

import keras
from keras import ops

from albert_tf.layers.configured_layer import ConfiguredLayer


@keras.saving.register_keras_serializable(package="albert_tf")
class LayerNorm(ConfiguredLayer):
    """Normalises the last axis, by default with 1e-12 as `contrib.layers.layer_norm`.

    The statistics are computed in float32 whatever the compute dtype, because
    1e-12 is zero in float16. Subtracting the mean first keeps nearly constant
    rows accurate.

    Args:
        config: an `AlbertConfig`.
        use_bias: whether to add `beta`.

    Call: `[..., width]` to `[..., width]`.
    """

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
        centred = inputs - ops.mean(inputs, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        scale = ops.rsqrt(variance + self.config.layer_norm_eps)
        outputs = centred * scale * self.gamma
        if self.use_bias:
            outputs = outputs + self.beta
        return ops.cast(outputs, self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "use_bias": self.use_bias}
