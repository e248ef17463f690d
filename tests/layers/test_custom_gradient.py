"""Gradients of one's own: where they are taken, and what stays in memory afterwards."""

import gc
import weakref

import pytest
import tensorflow as tf

from albert_tf.layers.custom_gradient import custom_gradient


@custom_gradient
def twice(tensor):
    return 2 * tensor, lambda upstream: 5 * upstream


def repeated(tensor):
    loop = (lambda i, _: i < 3), lambda i, value: (i + 1, twice(value))
    return tf.while_loop(*loop, (0, tensor), maximum_iterations=3)[1]


@pytest.mark.parametrize(
    ("compute", "expected"), [(twice, (2, 5)), (repeated, (8, 125))]
)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_each_graph_takes_the_gradient_and_ends(compute, expected, jit_compile):
    def value_and_gradient(tensor):
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            value = compute(tensor)
        return value, tape.gradient(value, tensor)

    one = tf.constant(1.0)
    functions = [
        tf.function(each, jit_compile=jit_compile, autograph=False)
        for each in (value_and_gradient, compute)
    ]
    with tf.GradientTape() as tape:
        tape.watch(one)
        value = functions[1](one)
    found = (
        value_and_gradient(one),
        functions[0](one),
        (value, tape.gradient(value, one)),
    )
    assert found == (expected,) * 3
    graphs = [weakref.ref(f.get_concrete_function(one).graph) for f in functions]
    assert None not in [graph() for graph in graphs]
    del functions, tape
    gc.collect()
    assert [graph() for graph in graphs] == [None, None]
