"""The feed-forward sublayer against a NumPy transcription of the official function."""

import numpy as np

from albert_tf.layers.feed_forward import FeedForward


def test_equals_the_official_formula(tiny_config):
    config = tiny_config(hidden_act="relu")
    layer = FeedForward(config)
    layer.build()
    random = np.random.default_rng(2)
    for variable in (layer.intermediate.bias, layer.output_dense.bias):
        variable.assign(random.normal(size=variable.shape))
    hidden = random.normal(size=(2, 5, config.hidden_size)).astype("float32")
    inner = hidden @ np.array(layer.intermediate.kernel)
    inner = np.maximum(inner + np.array(layer.intermediate.bias), 0)
    expected = inner @ np.array(layer.output_dense.kernel)
    expected += np.array(layer.output_dense.bias) + hidden
    expected -= expected.mean(-1, keepdims=True)
    expected /= np.sqrt((expected**2).mean(-1, keepdims=True))
    np.testing.assert_allclose(layer(hidden), expected, atol=1e-5)
