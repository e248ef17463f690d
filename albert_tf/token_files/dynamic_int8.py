"""Dynamic int8 of ONNX files: kernels in bytes, their inputs rounded at run time.

`quantize_dynamic` of ONNX Runtime writes the same operations, but holds five copies of
the weights.
"""

import functools

import numpy as np

from albert_tf.token_files import onnx_graph

# Seven bits: without VNNI, sums of two products of eight bits saturate.
_LARGEST = 64


def quantize(path):
    """Quantizes an ONNX file's products with kernels `[inputs, outputs]`.

    Each column has a scale. Embeddings, attention's products of two activations, and
    XLNet's kernels of more axes stay in float32.

    Args:
        path: the file, in float32.
    """
    import onnx

    folder = str(path.parent)
    model = onnx_graph.outline(path)
    graph = onnx_graph.fold(model.graph, folder)
    kernels = {
        tensor.name: functools.partial(_in_bytes, tensor, folder)
        for tensor in graph.initializer
        if len(tensor.dims) == 2 and tensor.data_type == onnx.TensorProto.FLOAT
    }
    made = {}
    _quantize_products(graph, kernels, made, {})
    graph.initializer.extend(tensor for pair in made.values() for tensor in pair)
    onnx_graph.drop_unread(graph)
    onnx_graph.name_by_place(graph)
    rounded = path.with_suffix(".rounded")  # `path` still has the rest of the weights
    onnx_graph.save(model, {}, rounded)
    rounded.replace(path)


def _quantize_products(part, kernels, made, rounded):
    """Quantizes the products of a graph, or of a loop's body.

    Args:
        part: the `onnx.GraphProto`.
        kernels: a dict of `_in_bytes` of the constants by name.
        made: a dict that gets the kernels in bytes by name.
        rounded: a dict that gets the names of the inputs in bytes by name.
    """
    copies = [type(n).FromString(n.SerializeToString()) for n in part.node]
    del part.node[:]
    for node in copies:
        for body in onnx_graph.bodies(node):
            _quantize_products(body, kernels, made, {**rounded})
        if node.op_type != "MatMul" or node.input[1] not in kernels:
            part.node.append(node)
            continue
        rows, kernel = node.input
        if rows not in rounded:
            rounded[rows] = [f"{rows}_{name}" for name in ("bytes", "scale", "zero")]
            part.node.append(_node("DynamicQuantizeLinear", [rows], rounded[rows]))
        if kernel not in made:
            made[kernel] = kernels[kernel]()
        part.node.extend(_product(node.output[0], *rounded[rows], *made[kernel]))


def _product(output, rows, scale, zero, kernel, scales):
    """Lists the nodes that ONNX Runtime makes one operation of."""
    names = [f"{output}_{name}" for name in ("sums", "float", "scales")]
    sums, numbers, both = names
    return [
        _node("MatMulInteger", [rows, kernel.name, zero], [sums]),
        _node("Cast", [sums], [numbers], to=1),
        _node("Mul", [scale, scales.name], [both]),
        _node("Mul", [numbers, both], [output]),
    ]


def _in_bytes(tensor, folder):
    """Returns a kernel in int8 and the scales of its columns, as constants."""
    import onnx

    kernel = onnx.numpy_helper.to_array(tensor, folder)
    scales = np.abs(kernel).max(axis=0) / np.float32(_LARGEST)
    scales[scales == 0] = 1
    values = np.rint(kernel / scales).astype("int8")
    return (
        onnx.numpy_helper.from_array(values, f"{tensor.name}_bytes"),
        onnx.numpy_helper.from_array(scales, f"{tensor.name}_scales"),
    )


def _node(operation, inputs, outputs, **attributes):
    import onnx

    return onnx.helper.make_node(operation, inputs, outputs, **attributes)
