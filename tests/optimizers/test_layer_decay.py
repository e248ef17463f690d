"""Layer-wise decay: factors by depth, and the updates that they give."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers.rules import layer_decay
from albert_tf.optimizers.rules import layer_factors
from albert_tf.optimizers.rules import official_factors

# The top set of parameters is the first power.
_INNER = {"0_0": 4, "0_1": 3, "1_0": 2, "1_1": 1}
_UNSHARED = {"parameter_sharing": "none", "num_hidden_layers": 2}
_SOME_SHARED = {"parameter_sharing": "attention", "num_hidden_layers": 2}


@pytest.mark.parametrize(
    ("changes", "attention", "feed_forward"),
    [
        ({}, {"0_0": 1}, {"0_0": 1}),
        ({"num_hidden_groups": 2, "inner_group_num": 2}, _INNER, _INNER),
        (_UNSHARED, {"0_0": 2, "1_0": 1}, {"0_0": 2, "1_0": 1}),
        # The second layer uses the attention of the first, too.
        (_SOME_SHARED, {"0_0": 1}, {"0_0": 2, "1_0": 1}),
    ],
)
def test_factors_are_powers_by_depth(tiny_config, changes, attention, feed_forward):
    powers = {f"attention_{name}": power for name, power in attention.items()}
    powers |= {f"feed_forward_{name}": power for name, power in feed_forward.items()}
    first = max(powers.values()) + 1
    powers |= {"embeddings": first, "embedding_mapping": first}
    factors = layer_factors(tiny_config(**changes), 0.5)
    assert factors == {name: 0.5**power for name, power in powers.items()}


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_updates_are_those_without_decay_times_the_factor(optimizer_class):
    factors = {"attention_0_0": 0.5, "embeddings": 0.25}
    paths = ("albert/attention_0_0/kernel", "embeddings/word_embeddings", "head/kernel")
    found = []
    for own in ({}, factors):
        variables = [keras.Variable(np.eye(2), name="v") for _ in paths]
        for variable, path in zip(variables, paths, strict=True):
            variable._path = path
        optimizer = optimizer_class(1e-2, learning_rate_factors=own)
        optimizer.apply([tf.constant([[1.0, 2.0], [3.0, 4.0]])] * 3, variables)
        found.append([np.eye(2) - np.array(v) for v in variables])
    for plain, decayed, factor in zip(*found, (0.5, 0.25, 1.0), strict=True):
        np.testing.assert_allclose(decayed, factor * plain, rtol=1e-3)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.learning_rate_factors == factors


def _adamw(weight, gradients, factor, rate=1e-2, decay=0.01):
    weight, m, v = np.float64(weight), 0.0, 0.0
    for gradient in gradients:
        gradient = factor * np.float64(gradient)
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        weight = weight - rate * (m / (np.sqrt(v) + 1e-6) + decay * weight)
    return weight


def test_the_official_rule_scales_gradients(tiny_config):
    """`get_train_op` in model_utils.py: layer l of L by decay ** (L - 1 - l)."""
    config = tiny_config(parameter_sharing="none", num_hidden_layers=3)
    powers = {"0_0": 2, "1_0": 1, "2_0": 0}
    kinds = ("attention", "feed_forward")
    assert official_factors(config, 0.5) == {
        f"{kind}_{key}": 0.5**power for key, power in powers.items() for kind in kinds
    }
    model = AlbertForSequenceClassification(config, 2)
    variables = [v for v in model.trainable_variables if v.path.endswith("kernel")]
    arguments = layer_decay(config, 0.5, "gradients")
    optimizer = AdamW(1e-2, **arguments)
    start = [v.numpy() for v in variables]
    random = np.random.default_rng(0)
    # Small ones, beside which the epsilon of Adam counts.
    steps = [[random.normal(0, 1e-6, v.shape) for v in start] for _ in range(3)]
    for gradients in steps:
        optimizer.apply([tf.constant(g, tf.float32) for g in gradients], variables)
    factors = {
        f"/{kind}_{key}/": 0.5 ** powers[key] for kind in kinds for key in powers
    }
    seen = set()
    for i, (before, variable) in enumerate(zip(start, variables, strict=True)):
        factor = next((f for part, f in factors.items() if part in variable.path), 1.0)
        seen.add(factor)
        expected = _adamw(before, [gradients[i] for gradients in steps], factor)
        step = expected - before
        np.testing.assert_allclose(variable - before, step, rtol=1e-3, atol=1e-7)
    assert seen == {1.0, 0.5, 0.25}
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.gradient_factors == arguments["gradient_factors"]
