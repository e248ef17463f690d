"""`tf.custom_gradient`, without what it keeps until the process ends."""

import functools
import weakref

import tensorflow as tf
from tensorflow.python.framework import ops

_GRADIENTS = "albert_tf/gradients"  # a collection of a graph


def custom_gradient(function):
    """Returns `tf.custom_gradient(function)`, whose graphs end with their last user.

    TensorFlow registers the gradient of each call in a graph for as long as the process
    runs, and with it the graph and all variables that it reads: those of a model and of
    its optimizer. Here the graph holds its gradients, and TensorFlow a weak reference.
    """
    decorated = tf.custom_gradient(function)

    @functools.wraps(function)
    def call(*tensors):
        results = decorated(*tensors)
        if not tf.executing_eagerly():
            _held_by_its_graph(tf.nest.flatten(results)[0].op)
        return results

    return call


def _held_by_its_graph(op):
    name = op.get_attr("_gradient_op_type").decode()
    entry = ops.gradient_registry._registry[name]
    gradient = weakref.ref(entry["type"])
    op.graph.add_to_collection(_GRADIENTS, entry["type"])
    entry["type"] = lambda op, *upstream: gradient()(op, *upstream)
