"""The base of all XLNet layers: their config and the official initialiser."""

import keras

from albert_tf.families.xlnet_config import XLNetConfig
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.base import LayerNorm


class XLNetLayer(ConfiguredLayer):
    """A layer whose sizes come from an `XLNetConfig`.

    Args:
        config: an `XLNetConfig`.
    """

    config_class = XLNetConfig

    def _initializer(self):
        # Not cut off, other than ALBERT's (official `xlnet.py`).
        return keras.initializers.RandomNormal(stddev=self.config.initializer_range)


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetNorm(XLNetLayer, LayerNorm):
    """As `LayerNorm`."""
