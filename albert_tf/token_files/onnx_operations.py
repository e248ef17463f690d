"""ONNX's own operations in the place of several of TensorFlow."""

import json

import keras
import numpy as np
import tensorflow as tf

_MARK = "PyFuncStateless"  # an operation of TensorFlow that no model has


def _mark(operation, inputs, shape, **attributes):
    """Makes a tensor that `_convert_mark` turns into the result of an ONNX operation.

    Args:
        operation: its name.
        inputs: tensors, or arrays for constants.
        shape: the result's, None for any size; its dtype is the first input's.
        **attributes: the operation's.
    """
    inputs = [keras.ops.convert_to_tensor(value) for value in inputs]
    (output,) = tf.raw_ops.PyFuncStateless(
        input=inputs,
        token=json.dumps([operation, attributes], sort_keys=True),
        Tout=[inputs[0].dtype],
    )
    return tf.ensure_shape(output, shape)


def _convert_mark(context, node, name, _):
    operation, attributes = json.loads(node.get_attr_str("token"))
    shapes, dtypes = node.output_shapes, node.output_dtypes
    inputs, outputs = list(node.input), list(node.output)
    context.remove_node(name)
    context.make_node(
        operation, inputs, attributes, outputs=outputs, shapes=shapes, dtypes=dtypes
    )


def _multiplied(inputs, kernel, adapter):
    """Multiplies without making a matrix of the inputs first."""
    outputs = tf.matmul(inputs, getattr(kernel, "value", kernel))
    if adapter is not None:
        down, up = adapter
        outputs += tf.matmul(tf.matmul(inputs, down), up)
    return outputs


def _normalized(inputs, gamma, beta, epsilon):
    given = [gamma] if beta is None else [gamma, beta]
    return _mark(
        "LayerNormalization", [inputs, *given], inputs.shape, axis=-1, epsilon=epsilon
    )


def _split_heads(projected, inputs, heads):
    *outer, width = projected.shape
    shape = np.int64([0, 0, heads, width // heads])  # 0 keeps a size
    return _mark("Reshape", [projected, shape], [*outer, heads, width // heads])


def _joined_heads(context, attending):
    shape = np.int64([0, 0, attending.shape[2]])
    return _mark("Reshape", [context, shape], attending.shape)


OPERATIONS = {
    "multiplied": _multiplied,
    "normalized": _normalized,
    "split_heads": _split_heads,
    "joined_heads": _joined_heads,
}
"""For `replaced`, while a graph for ONNX is traced."""

HANDLERS = {_MARK: (_convert_mark, [])}
"""For tf2onnx: the function that converts marks."""
