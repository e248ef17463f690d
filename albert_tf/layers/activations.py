"""The activations a config can name."""

import contextlib
import contextvars
import functools
import math

import keras
from keras import ops

_COMPILED = contextvars.ContextVar("compiled", default=False)


@contextlib.contextmanager
def compiled_activations(compiled=True):
    """Lets XLA compile the activations of many operations by themselves.

    For graphs that XLA does not compile as a whole, on the backend TensorFlow. Run
    operation by operation, a gelu of `[8, 128, 3072]` in bfloat16 and its gradient take
    12 ms on two cores with AVX512_BF16; compiled, they take 4 ms (docs/decisions.md,
    "What XLA compiles of a step in bfloat16").

    Args:
        compiled: False changes nothing.
    """
    token = _COMPILED.set(compiled)
    try:
        yield
    finally:
        _COMPILED.reset(token)


def _compilable(function):
    """Returns elementwise `function`, which `compiled_activations` compiles."""

    @functools.wraps(function)
    def call(*inputs):
        return _compiled(function)(*inputs) if _COMPILED.get() else function(*inputs)

    return call


@functools.cache
def _compiled(function):
    """Compiles `function` and its gradient, which keeps only the inputs.

    Both compute in float32 and return the type of the inputs: XLA rounds bfloat16 after
    each operation, which makes it half as fast.
    """
    # Imported here: the layers also run without TensorFlow.
    import tensorflow as tf

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

    @tf.custom_gradient
    def call(*inputs):
        return forward(*inputs), lambda upstream: backward(upstream, *inputs)

    return call


def _gelu(inputs):
    return ops.gelu(inputs, approximate=True)


def _gelu_erf(inputs):
    # As TensorFlow's, but for the last digit; that has `erfc`, which ONNX lacks.
    return 0.5 * inputs * (1.0 + ops.erf(inputs * math.sqrt(0.5)))


def _geglu(gate, values):
    return _gelu(gate) * values


def _swiglu(gate, values):
    return ops.silu(gate) * values


ACTIVATION_FUNCTIONS = {
    "gelu": _compilable(_gelu),
    "gelu_erf": _compilable(_gelu_erf),
    "linear": lambda inputs: inputs,
    "relu": keras.ops.relu,
    "silu": ops.silu,
    "tanh": keras.ops.tanh,
}
"""Of one tensor."""

GATED_FUNCTIONS = {
    "geglu": _compilable(_geglu),
    "swiglu": _compilable(_swiglu),
}
"""Of the gate and of the values that it lets through (Shazeer, arXiv 2002.05202)."""
