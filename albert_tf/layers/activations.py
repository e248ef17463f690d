"""The activations a config can name."""

import contextlib
import contextvars
import functools

import keras
from keras import ops

_COMPILED = contextvars.ContextVar("compiled", default=False)


@contextlib.contextmanager
def compiled_activations(compiled=True):
    """Within it, XLA compiles the activations of many operations by themselves.

    For graphs that XLA does not compile as a whole, on the backend TensorFlow. As one
    operation after the other, a gelu of `[8, 128, 3072]` in bfloat16 and its gradient
    take 12 ms on two cores with AVX512_BF16; compiled, they take 4 ms
    (docs/decisions.md, "What XLA compiles of a step in bfloat16").

    Args:
        compiled: False changes nothing.
    """
    token = _COMPILED.set(compiled)
    try:
        yield
    finally:
        _COMPILED.reset(token)


def _compilable(function):
    """`function` of a tensor, elementwise, which `compiled_activations` compiles."""

    @functools.cache
    def compiled():
        # Imported here: the layers also run without TensorFlow.
        from albert_tf.layers.compiled_elementwise import compiled_elementwise

        return compiled_elementwise(function)

    @functools.wraps(function)
    def call(inputs):
        return compiled()(inputs) if _COMPILED.get() else function(inputs)

    return call


def _gelu(inputs):
    return ops.gelu(inputs, approximate=True)


def _gelu_erf(inputs):
    return ops.gelu(inputs, approximate=False)


ACTIVATION_FUNCTIONS = {
    "gelu": _compilable(_gelu),
    "gelu_erf": _compilable(_gelu_erf),
    "linear": lambda inputs: inputs,
    "relu": keras.ops.relu,
    "tanh": keras.ops.tanh,
}
