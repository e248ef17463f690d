"""`tf.custom_gradient`, without what it keeps until the process ends."""

import functools
import weakref

import tensorflow as tf
from tensorflow.python.framework import ops

_GRADIENTS = "albert_tf/gradients"  # a collection of a graph


def custom_gradient(function):
    """Returns `tf.custom_gradient(function)`, whose graphs end with their last user."""
    decorated = tf.custom_gradient(function)

    @functools.wraps(function)
    def call(*tensors):
        return kept_by_graph(decorated(*tensors))

    return call


def kept_by_graph(results):
    """Returns the results of a `tf.custom_gradient`; their graph keeps its gradient.

    TensorFlow registers the gradient of each call in a graph for as long as the process
    runs, and with it the graph and all variables that it reads: those of a model and of
    its optimizer. It does so in operations of its own, such as `all_reduce`. Here the
    graph holds its gradients, and TensorFlow a weak reference.

    Args:
        results: a tensor, or a nest of tensors; eager tensors stay as they are.
    """
    if tf.executing_eagerly():
        return results
    op = tf.nest.flatten(results)[0].op
    if op.type == "IdentityN":
        name = op.get_attr("_gradient_op_type").decode()
        entry = ops.gradient_registry._registry[name]
        gradient = weakref.ref(entry["type"])
        op.graph.add_to_collection(_GRADIENTS, entry["type"])
        entry["type"] = lambda op, *upstream: gradient()(op, *upstream)
    return results
