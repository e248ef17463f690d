"""The activations a config can name."""

import contextlib
import functools
import math

import keras
from keras import ops

from albert_tf.layers.replaceable import replaceable
from albert_tf.layers.replaceable import replaced


def compiled_activations(compiled):
    """Lets XLA compile each activation that consists of many operations.

    This is for graphs that XLA does not compile as a whole, on the TensorFlow backend.
    Run operation by operation, a gelu of `[8, 128, 3072]` in bfloat16 and its gradient
    take 12 ms on two cores with AVX512_BF16; compiled, they take 4 ms
    (docs/decisions.md, "What XLA compiles of a step in bfloat16").

    Args:
        compiled: False changes nothing.
    """
    if not compiled:
        return contextlib.nullcontext()
    return replaced({f.__name__: _compiled(f.__wrapped__) for f in _COMPILABLE})


@functools.cache
def _compiled(function):
    """Compiles `function` and its gradient, which keeps only the inputs.

    Both compute in float32 and return the inputs' dtype: XLA rounds bfloat16 after each
    operation, which halves the speed.
    """
    # Imported here: the layers also run without TensorFlow.
    import tensorflow as tf

    from albert_tf.layers.custom_gradient import custom_gradient

    def in_float32(*inputs):
        exact = [tf.cast(tensor, tf.float32) for tensor in inputs]
        return tf.cast(function(*exact), inputs[0].dtype)

    def gradient(upstream, *inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = in_float32(*inputs)
        return tape.gradient(outputs, inputs, output_gradients=upstream)

    forward, backward = (
        tf.function(part, jit_compile=True, autograph=False)
        for part in (in_float32, gradient)
    )

    @custom_gradient
    def call(*inputs):
        return forward(*inputs), lambda upstream: backward(upstream, *inputs)

    return call


@replaceable
def gelu(inputs):
    """Computes Gaussian error linear units with a hyperbolic tangent."""
    return ops.gelu(inputs, approximate=True)


@replaceable
def gelu_erf(inputs):
    """Computes Gaussian error linear units with the error function."""
    # Equals TensorFlow's up to the last digit; that uses `erfc`, which ONNX lacks.
    return 0.5 * inputs * (1.0 + ops.erf(inputs * math.sqrt(0.5)))


@replaceable
def _geglu(gate, values):
    return gelu.__wrapped__(gate) * values


@replaceable
def _geglu_erf(gate, values):
    return gelu_erf.__wrapped__(gate) * values


@replaceable
def _reglu(gate, values):
    return ops.relu(gate) * values


@replaceable
def _swiglu(gate, values):
    return ops.silu(gate) * values


_COMPILABLE = (gelu, gelu_erf, _geglu, _geglu_erf, _reglu, _swiglu)

ACTIVATION_FUNCTIONS = {
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "linear": lambda inputs: inputs,
    "relu": keras.ops.relu,
    "silu": ops.silu,
    "tanh": keras.ops.tanh,
}
"""Activations of one tensor."""

GATED_FUNCTIONS = {
    "geglu": _geglu,
    "geglu_erf": _geglu_erf,
    "reglu": _reglu,
    "swiglu": _swiglu,
}
"""Activations of a gate and the values it scales (Shazeer, arXiv 2002.05202)."""
