"""Projections: Keras' numbers with fewer operations."""

import keras
import numpy as np
import tensorflow as tf

from albert_tf.layers.configured_layer import Dense

_ROWS = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")


def test_numbers_and_gradients_are_those_of_keras():
    kernel = np.random.default_rng(1).normal(size=(8, 4)).astype("float32")
    results, operations = [], []
    for layer_class in (keras.layers.Dense, Dense):
        layer = layer_class(4, bias_initializer="ones")
        layer.build((None, None, 8))
        layer.kernel.assign(kernel)

        @tf.function(input_signature=[tf.TensorSpec([None, None, 8])])
        def run(rows, layer=layer):
            outputs = layer(rows)
            loss = tf.reduce_sum(outputs**2)
            sources = [v.value for v in layer.trainable_variables]
            return outputs, *tf.gradients(loss, [rows, *sources])

        results.append(run(_ROWS))
        operations.append(len(run.get_concrete_function().graph.get_operations()))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert operations[1] < operations[0]


def test_a_row_and_no_bias():
    layer = Dense(4, use_bias=False)
    np.testing.assert_allclose(
        layer(_ROWS[0]), _ROWS[0] @ layer.kernel.numpy(), rtol=1e-6
    )
