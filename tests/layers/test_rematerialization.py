"""Depth loop and rematerialisation: the same numbers, less memory."""

import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining

SEED = tf.constant([5, 17], tf.int32)
OPTIONS = [
    {"depth_loop": loop, "rematerialize": remat}
    for loop, remat in itertools.product([False, True], repeat=2)
]


def loss_and_gradients(model, features, jit_compile):
    """Loss and gradients of a training step with dropout from a fixed seed."""

    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True, dropout_seed=SEED)
            log_probabilities = tf.nn.log_softmax(outputs["masked_lm_logits"])
            loss = -tf.reduce_mean(log_probabilities[..., 3])
            loss += tf.reduce_mean(outputs["sentence_order_logits"][:, 1])
        variables = [v.value for v in model.trainable_variables]
        gradients = tape.gradient(loss, variables)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    if jit_compile != "eager":
        step = tf.function(step, jit_compile=jit_compile)
    return step({name: tf.constant(value) for name, value in features.items()})


def with_options(config, source, **options):
    model = AlbertForPreTraining(config, **options)
    if source is not None:
        for variable, other in zip(
            model.trainable_variables, source.trainable_variables, strict=True
        ):
            variable.assign(other)
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jit_compile", "rate"), [("eager", 0.0), (None, 0.1), (True, 0.1)]
)
def test_options_do_not_change_the_numbers(
    jit_compile, rate, tiny_config, tiny_features
):
    # Two layers in the loop of the first group, one layer in the second.
    config = tiny_config(
        num_hidden_layers=3,
        num_hidden_groups=2,
        hidden_dropout_prob=rate,
        attention_probs_dropout_prob=rate,
    )
    first = None
    for options in OPTIONS:
        model = with_options(config, first, **options)
        found = loss_and_gradients(model, tiny_features, jit_compile)
        if first is None:
            first, (loss, gradients) = model, found
        np.testing.assert_allclose(found[0], loss, rtol=1e-6)
        # Of all tensors: the gradient of the key's bias is zero but for rounding.
        largest = max(np.abs(gradient).max() for gradient in gradients)
        for gradient, expected in zip(found[1], gradients, strict=True):
            np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-6 * largest)


def optimized_matmuls(config, features, **options):
    """The number of matrix products that XLA leaves in a training step."""
    model = AlbertModel(config, **options)

    @tf.function(jit_compile=True)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True, dropout_seed=SEED)
            loss = tf.reduce_sum(outputs["pooled_output"] ** 2)
        return tape.gradient(loss, [v.value for v in model.trainable_variables])

    features = {name: tf.constant(value) for name, value in features.items()}
    hlo = step.experimental_get_compiler_ir(features)(stage="optimized_hlo")
    return len(re.findall(r" dot\(", hlo))


@pytest.mark.slow
def test_the_compiler_does_not_merge_the_second_computation(tiny_config, tiny_features):
    config = tiny_config(num_hidden_layers=2)
    plain = optimized_matmuls(config, tiny_features)
    again = optimized_matmuls(config, tiny_features, rematerialize=True)
    # A block has 8 products and twice as many in its gradient. Here attention's own two
    # come in two parts: 10 forward, 10 again, 2 for the scores once more, 20 backward.
    assert again == plain + 2 * (42 - 24)


@pytest.mark.slow
def test_the_loop_is_compiled_once(tiny_config, tiny_features):
    counts = [
        optimized_matmuls(
            tiny_config(num_hidden_layers=n), tiny_features, depth_loop=True
        )
        for n in (2, 4)
    ]
    assert counts[0] == counts[1]
