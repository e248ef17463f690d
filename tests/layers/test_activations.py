"""The activations: the official GELU is the approximation by tanh."""

import math

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.activations import compiled_activations
from albert_tf.layers.replaceable import replaced

INPUTS = np.linspace(-6, 6, 997)


def by_tanh(x):
    """Values and slopes of the approximation by tanh, in float64."""
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + inner), 0.5 * (1 + inner + x * (1 - inner**2) * slope)


def by_erf(x):
    probabilities = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return x * probabilities, probabilities + x * density


def value_and_gradient(name, inputs, upstream, compiled):
    """Computes a graph's results, and whether it holds something that XLA compiles."""

    @tf.function(autograph=False)
    def run(inputs, upstream):
        with tf.GradientTape() as tape, compiled_activations(compiled):
            tape.watch(inputs)
            outputs = ACTIVATION_FUNCTIONS[name](inputs)
        return outputs, tape.gradient(outputs, inputs, output_gradients=upstream)

    graph = run.get_concrete_function(inputs, upstream).graph.as_graph_def()
    functions = [f for f in graph.library.function if f.attr["_XlaMustCompile"].b]
    return (*run(inputs, upstream), len(functions))


@pytest.mark.parametrize(("name", "exact"), [("gelu", by_tanh), ("gelu_erf", by_erf)])
def test_compiled_bfloat16_is_rounded_once(name, exact):
    """Half a unit in the last place is 2**-8; with rounding in between it is more."""
    inputs = tf.constant(INPUTS, tf.bfloat16)
    upstream = tf.fill(inputs.shape, tf.constant(3.0, tf.bfloat16))
    value, gradient, functions = value_and_gradient(name, inputs, upstream, True)
    values, slopes = exact(inputs.numpy().astype("float64"))
    assert (value.dtype, gradient.dtype) == (tf.bfloat16, tf.bfloat16)
    # Below -3, 1 + tanh cancels in float32, too.
    error = {"rtol": 2.0**-8, "atol": 3e-5}
    np.testing.assert_allclose(value.numpy().astype("float64"), values, **error)
    np.testing.assert_allclose(gradient.numpy().astype("float64"), 3 * slopes, **error)
    assert functions == 2  # the value and the gradient


@pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)
def test_compiled_float32_is_the_same(name):
    inputs = tf.constant(INPUTS, tf.float32)
    plain = value_and_gradient(name, inputs, tf.sin(inputs), False)
    compiled = value_and_gradient(name, inputs, tf.sin(inputs), True)
    for found, expected in zip(compiled[:2], plain[:2], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5e-6)
    # What is one operation is left alone.
    assert (plain[2], compiled[2]) == (0, 2 if "gelu" in name else 0)


def test_a_function_is_replaced_while_the_context_lasts():
    gelu = ACTIVATION_FUNCTIONS["gelu"]
    with replaced({"gelu": lambda inputs: -inputs}):
        assert gelu(3.0) == -3.0
        with compiled_activations(False):
            assert gelu(3.0) == -3.0
    assert float(gelu(tf.constant(3.0))) > 2.9
