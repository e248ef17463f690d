"""Projections, layer norm and dropout against NumPy references."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import EMBEDDING_SITE
from albert_tf.layers.base import SITES_PER_BLOCK
from albert_tf.layers.base import Dense
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import dropout
from albert_tf.layers.base import fold_seed
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.models.classification import AlbertForSequenceClassification

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


def test_rows_of_any_variance(make):
    rows = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    # The variance of the second row, 1e-6, is far above epsilon but would be lost
    # in the usual x * scale + (shift - mean * scale).
    rows[1] = 100 + 1e-3 * rows[1]
    rows[2] = 5.0
    # With variance 4e-12, epsilon 1e-12 shrinks the row by sqrt(4 / 5).
    rows[3] = [2e-6, -2e-6] * 4
    outputs = keras.ops.convert_to_numpy(make()(rows))
    np.testing.assert_allclose(outputs[0], reference(rows[0]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[1], reference(rows[1]), rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(outputs[2], 0)
    np.testing.assert_allclose(outputs[3], rows[3] / 2e-6 * np.sqrt(0.8), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_computes_in_float32(make, dtype):
    layer = make(dtype)
    rows = 1000 * np.random.default_rng(1).normal(size=(2, 8))
    outputs = layer(rows.astype("float16"))  # squares overflow float16
    assert keras.backend.standardize_dtype(outputs.dtype) == layer.compute_dtype
    found = keras.ops.convert_to_numpy(keras.ops.cast(outputs, "float32"))
    np.testing.assert_allclose(found, reference(rows), atol=0.02)
    assert layer.gamma.dtype == "float32"


def test_rate_and_scale():
    ones = tf.ones((200, 200))
    dropped = dropout(ones, 0.25, tf.constant([1, 2]), 0).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((dropped == 0).mean() - 0.25) < 0.01
    assert dropout(ones, 0.5, None, 0) is ones
    assert dropout(ones, 0.0, tf.constant([1, 2]), 0) is ones


def test_no_two_sites_of_nearby_seeds_coincide():
    sites = [EMBEDDING_SITE, CLASSIFIER_SITE, *range(24 * SITES_PER_BLOCK)]
    seeds = np.array(list(itertools.product(range(5), range(20))))
    folded = [fold_seed(tf.constant(seeds), site).numpy() for site in sites]
    assert len(np.unique(np.concatenate(folded), axis=0)) == len(seeds) * len(sites)


@pytest.mark.parametrize("depth_loop", [False, True])
def test_no_two_dropouts_of_a_model_have_the_same_mask(
    tiny_config, tiny_features, monkeypatch, depth_loop
):
    """Layers that share all weights, and the three sites of each, draw their own."""
    masks = []
    draw = keras.random.dropout

    def recorded(inputs, rate, seed):
        masks.append(tuple(draw(tf.ones(64), 0.5, seed=seed).numpy().tolist()))
        return inputs

    monkeypatch.setattr(keras.random, "dropout", recorded)
    config = tiny_config(
        num_hidden_layers=3, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    model = AlbertForSequenceClassification(config, 2, depth_loop=depth_loop)
    model(tiny_features, training=True, dropout_seed=tf.constant([1, 2]))
    sites = 2 + 3 * config.num_hidden_layers  # also of the embeddings and the head
    assert len(masks) == sites
    assert len(set(masks)) == sites
