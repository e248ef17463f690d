"""Depth loop and rematerialisation: the same numbers, less memory."""

import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import seeded

SEED = tf.constant([5, 17], tf.int32)


@pytest.fixture
def features(tiny_features):
    return {name: tf.constant(value) for name, value in tiny_features.items()}


def training_step(config, **options):
    """A compiled function of features: outputs, and gradients of the layers."""
    with seeded(1):
        model = AlbertModel(config, **options)

    @tf.function(jit_compile=True)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True, dropout_seed=SEED)
            loss = tf.reduce_sum(outputs["sequence_output"] ** 3)
        variables = [v.value for v in model.transformer.trainable_variables]
        return outputs["sequence_output"], tape.gradient(loss, variables)

    return step


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth_loop", [False, pytest.param(True, marks=pytest.mark.nightly)]
)
def test_a_compiled_step_has_the_same_numbers(depth_loop, tiny_config, features):
    config = tiny_config(num_hidden_layers=1 + depth_loop)
    plain = training_step(config)
    again = training_step(config, depth_loop=depth_loop, rematerialize=True)
    (expected, gradients), (found, others) = plain(features), again(features)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    # Of all tensors: the gradient of the key's bias is zero but for rounding.
    largest = max(np.abs(gradient).max() for gradient in gradients)
    for gradient, other in zip(others, gradients, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-5 * largest)


def matrix_products(step, features):
    """The number of them that XLA leaves in a compiled function."""
    hlo = step.experimental_get_compiler_ir(features)(stage="optimized_hlo")
    return len(re.findall(r" dot\(", hlo))


@pytest.mark.slow
def test_the_compiler_does_not_merge_the_second_computation(tiny_config, features):
    config = tiny_config(num_hidden_layers=1)
    plain, again = (
        matrix_products(training_step(config, rematerialize=rematerialize), features)
        for rematerialize in (False, True)
    )
    # A block has 8 products and twice as many in its gradient. Here attention's own two
    # come in two parts: 10 forward, 10 again, 2 for the scores once more, 20 backward.
    assert again == plain + 42 - 24


def test_a_loop_holds_one_layer(tiny_config, features):
    sizes = set()
    for layers in (2, 4):
        model = AlbertModel(tiny_config(num_hidden_layers=layers), depth_loop=True)
        graph = tf.function(model).get_concrete_function(features).graph.as_graph_def()
        sizes.add(sum(len(body.node_def) for body in graph.library.function))
    assert len(sizes) == 1
