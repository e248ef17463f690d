"""Layer normalisation against a float64 transcription."""

import keras
import numpy as np
import pytest

from albert_tf.layers.layer_norm import LayerNorm


def reference(inputs):
    inputs = np.asarray(inputs, np.float64)
    centred = inputs - inputs.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)


@pytest.fixture
def make(tiny_config):
    def build(dtype="float32"):
        layer = LayerNorm(tiny_config(), dtype=dtype)
        layer.build((None, 8))
        return layer

    return build


def test_ordinary_and_nearly_constant_rows(make):
    rows = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
    # The variance of the second row, 1e-6, is far above epsilon but would be lost
    # in the usual x * scale + (shift - mean * scale).
    rows[1] = 100 + 1e-3 * rows[1]
    rows[2] = 5.0
    outputs = keras.ops.convert_to_numpy(make()(rows))
    np.testing.assert_allclose(outputs[0], reference(rows[0]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[1], reference(rows[1]), rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(outputs[2], 0)


def test_epsilon_is_that_of_the_official_code(make):
    # With variance 4e-12, epsilon 1e-12 shrinks the row by sqrt(4 / 5).
    row = np.array([[2e-6, -2e-6] * 4], "float32")
    np.testing.assert_allclose(make()(row), row / 2e-6 * np.sqrt(0.8), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_computes_in_float32(make, dtype):
    layer = make(dtype)
    rows = 1000 * np.random.default_rng(1).normal(size=(2, 8))
    outputs = layer(rows.astype("float16"))  # squares overflow float16
    assert keras.backend.standardize_dtype(outputs.dtype) == layer.compute_dtype
    found = keras.ops.convert_to_numpy(keras.ops.cast(outputs, "float32"))
    np.testing.assert_allclose(found, reference(rows), atol=0.02)
    assert layer.gamma.dtype == "float32"
