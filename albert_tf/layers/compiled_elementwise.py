"""Elementwise functions that XLA compiles by themselves, with their gradients."""

import tensorflow as tf


def compiled_elementwise(function):
    """`function`, compiled; its gradient is compiled, too, and keeps only the input.

    Both compute in float32, whatever the type of the input, which is also that of the
    output: XLA rounds bfloat16 after each operation, which makes it half as fast.

    Args:
        function: of a tensor, to a tensor of the same shape and type.
    """

    def in_float32(inputs):
        return tf.cast(function(tf.cast(inputs, tf.float32)), inputs.dtype)

    def gradient(inputs, upstream):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = in_float32(inputs)
        return tape.gradient(outputs, inputs, output_gradients=upstream)

    forward, backward = _compiled(in_float32), _compiled(gradient)

    @tf.custom_gradient
    def call(inputs):
        return forward(inputs), lambda upstream: backward(inputs, upstream)

    return call


def _compiled(function):
    return tf.function(function, jit_compile=True, autograph=False)
