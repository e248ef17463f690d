"""A linear classifier on the pooled output."""

import keras
from keras import ops

from albert_tf.layers.configured_layer import ConfiguredLayer
from albert_tf.layers.configured_layer import truncated_normal


@keras.saving.register_keras_serializable(package="albert_tf")
class ClassificationHead(ConfiguredLayer):
    """Logits from `[..., hidden]`, with the weights stored as `[labels, hidden]`.

    The official sentence-order head (two labels: 0 in order, 1 swapped) and the
    official classifier have this form. It is computed in float32 whatever the compute
    dtype.

    Args:
        config: an `AlbertConfig`.
        num_labels: width of the output.
        initializer_range: standard deviation of the initial weights.

    Call: `[..., hidden]` to float32 `[..., labels]`.
    """

    def __init__(self, config, num_labels, initializer_range, **kwargs):
        super().__init__(config, **kwargs)
        self.num_labels = num_labels
        self.initializer_range = initializer_range

    @property
    def output_shape(self):
        """Shape of the logits, as `summary` of a model shows it."""
        return (None, self.num_labels)

    def build(self, input_shape=None):
        self.output_weights = self._float32_weight(
            "output_weights",
            (self.num_labels, self.config.hidden_size),
            truncated_normal(self.initializer_range),
        )
        self.output_bias = self._float32_weight(
            "output_bias", (self.num_labels,), "zeros"
        )

    def call(self, pooled):
        # In float32, as the weights: bfloat16 would round a logit of 5 by 0.02.
        logits = ops.matmul(pooled, ops.transpose(self.output_weights))  # [..., L]
        return logits + self.output_bias

    def get_config(self):
        return {
            **super().get_config(),
            "num_labels": self.num_labels,
            "initializer_range": self.initializer_range,
        }
