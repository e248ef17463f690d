"""The activations a config can name."""

import functools

import keras

ACTIVATION_FUNCTIONS = {
    "gelu": functools.partial(keras.ops.gelu, approximate=True),
    "gelu_erf": functools.partial(keras.ops.gelu, approximate=False),
    "linear": lambda inputs: inputs,
    "relu": keras.ops.relu,
    "tanh": keras.ops.tanh,
}
