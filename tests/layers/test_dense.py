"""Projections: Keras' numbers with fewer operations; parts that stay in float32."""

import keras
import numpy as np
import tensorflow as tf

import albert_tf
from albert_tf.layers.configured_layer import Dense
from albert_tf.layers.masked_lm_head import MaskedLMHead

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
        layer(_ROWS[0]), _ROWS[0] @ layer.kernel.numpy(), rtol=1e-6, atol=1e-6
    )


def test_heads_of_bfloat16_models_round_no_logit():
    config = albert_tf.AlbertConfig(
        vocab_size=3, embedding_size=8, hidden_size=8, num_attention_heads=2
    )
    head = MaskedLMHead(config, dtype="bfloat16")
    head.build()
    logits = head(_ROWS, tf.cast(_ROWS[0], tf.bfloat16))
    assert np.any(logits != tf.cast(tf.cast(logits, tf.bfloat16), tf.float32))
    model = albert_tf.AlbertForAnswerableQuestions(config, dtype="bfloat16")
    layers = model.answer_beams_head
    types = {layer.compute_dtype for layer in (layers.start, layers.end, layers.answer)}
    assert types == {"float32"}
