"""Muon against a NumPy transcription of its author's implementation."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.optimizers import Muon
from albert_tf.optimizers.muon import orthogonalised
from tests.optimizers.conftest import drawn_gradients
from tests.optimizers.conftest import take_steps

RATE, RATIO, DECAY = 0.02, 0.1, 0.01


def newton_schulz(matrix):
    """Iterates as the author's `zeropower_via_newtonschulz5`, in float64."""
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(5):
        squared = x @ x.T
        x = 3.4445 * x + (-4.7750 * squared + 2.0315 * squared @ squared) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def muon_steps(weight, gradients):
    shape = weight.shape
    weight, momentum = weight.reshape(shape[0], -1).astype(np.float64), 0.0
    for gradient in gradients:
        gradient = gradient.reshape(weight.shape)
        momentum = 0.95 * momentum + 0.05 * gradient
        update = newton_schulz(0.05 * gradient + 0.95 * momentum)
        update *= max(1.0, weight.shape[1] / weight.shape[0]) ** 0.5
        weight = weight - RATE * (update + DECAY * weight)
    return weight.reshape(shape)


def adam_steps(weight, gradients, decay):
    m = v = 0.0
    for t, gradient in enumerate(gradients, 1):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        update = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6)
        weight = weight - RATE * RATIO * (update + decay * weight)
    return weight


@pytest.fixture
def variables():
    """Wide, tall, of three dimensions; then what AdamW steps: 4 decay, 2 do not."""
    random = np.random.default_rng(0)
    paths = {
        "t/feed_forward_0_0/intermediate/kernel": (3, 5),
        "t/feed_forward_0_0/output_dense/kernel": (5, 3),
        "stack/attention_1_0/q_kernel": (4, 2, 3),
        "albert/embeddings/word_embeddings": (7, 3),
        "albert/embedding_mapping/kernel": (3, 4),
        "classifier/output_weights": (2, 4),
        "albert/pooler/kernel": (4, 4),
        "t/attention_0_0/query/bias": (4,),
        "t/attention_0_0/layer_norm/gamma": (4,),
    }
    found = []
    for path, shape in paths.items():
        *scopes, name = path.split("/")
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(keras.name_scope(scope))
            value = random.normal(size=shape).astype("float32")
            found.append(keras.Variable(value, name=name))
    return found


def test_ten_steps_equal_the_formulas(variables):
    gradients, starts = drawn_gradients(variables, 10), [v.numpy() for v in variables]
    take_steps(Muon(learning_rate=RATE), gradients, variables)
    for i, variable in enumerate(variables):
        expected = (
            muon_steps(starts[i], gradients[i])
            if i < 3
            else adam_steps(starts[i], gradients[i], DECAY if i < 7 else 0.0)
        )
        np.testing.assert_allclose(variable.numpy(), expected, rtol=2e-5, atol=2e-6)


def test_singular_values_come_near_one():
    for shape in ((6, 6), (12, 4), (4, 12)):
        matrix = np.random.default_rng(0).normal(size=shape).astype("float32")
        found = np.linalg.svd(orthogonalised(tf.constant(matrix), 5), compute_uv=False)
        assert 0.6 < found.min() <= found.max() < 1.2
    assert not np.any(orthogonalised(tf.zeros([3, 2]), 5))


_CHANGES = {"momentum": 0.5, "nesterov": False, "ns_steps": 2, "adam_lr_ratio": 0.5}
_CHANGES |= {"bias_correction": False, "weight_decay_rate": 0.0}


@pytest.mark.parametrize("name", _CHANGES)
def test_every_argument_counts_and_survives_its_config(variables, name):
    gradients, starts = drawn_gradients(variables, 2), [v.numpy() for v in variables]
    changed, found = Muon(RATE, **{name: _CHANGES[name]}), []
    for optimizer in (Muon(RATE), changed, Muon.from_config(changed.get_config())):
        for variable, start in zip(variables, starts, strict=True):
            variable.assign(start)
        take_steps(optimizer, gradients, variables)
        found.append(np.concatenate([v.numpy().ravel() for v in variables]))
    assert np.abs(found[0] - found[1]).max() > 1e-5
    np.testing.assert_array_equal(found[1], found[2])


def test_factors_of_layers_and_the_ratio_multiply(variables):
    optimizer = Muon(learning_rate_factors={"attention_1_0": 0.5, "embeddings": 0.25})
    optimizer.build(variables)
    names = [tuple(own) for own in optimizer.moments]
    adam = ("first_moments", "second_moments")
    assert names == [("momentums",)] * 3 + [adam] * 6
    line = optimizer.rules_table(variables)[-1]
    assert line.split()[:3] == ["3", "orthogonalised", "54"]
    expected = [1, 1, 0.5, RATIO * 0.25, *[RATIO] * 5]
    np.testing.assert_allclose(optimizer.factors, expected)
