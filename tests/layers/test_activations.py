"""The activations: the official GELU is the approximation by tanh."""

import pytest
from keras import ops

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gelu", 0.841192),
        ("gelu_erf", 0.8413447),
        ("relu", 1.0),
        ("tanh", 0.761594),
        ("linear", 1.0),
    ],
)
def test_value_at_one(name, expected):
    found = float(ACTIVATION_FUNCTIONS[name](ops.convert_to_tensor(1.0)))
    assert found == pytest.approx(expected, abs=5e-7)
