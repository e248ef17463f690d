"""Networks as ONNX graphs: converted by tf2onnx, with operations and weights of our own.

tf2onnx neither sees the weights, which it would copy a dozen times, nor what ONNX has
an operation for: layer norms, and shapes that need no arithmetic.
"""

import contextlib
import itertools
import json
import logging as standard_logging
import warnings

import keras
import numpy as np
import tensorflow as tf

from albert_tf.errors import of_extra
from albert_tf.layers.replaceable import replaced

_OPSET = 17
_MARK = "PyFuncStateless"  # an operation of TensorFlow that no model has


def write(compute, specs, variables, path):
    """Writes an ONNX file in float32.

    Args:
        compute: a function from a dict of features to a dict of numbers.
        specs: a dict of each feature's `tf.TensorSpec`.
        variables: the Keras variables that it reads, each of which the file holds once.
        path: the file.

    Raises:
        UserError: tf2onnx is not installed.
    """
    with of_extra("onnx", "An ONNX file needs tf2onnx"):
        import onnx
        import tf2onnx
    inputs, weights = list(specs.values()), {}
    for number, variable in enumerate(variables):
        weights[f"weight_{number}"] = variable
        inputs.append(tf.TensorSpec(variable.shape, variable.dtype, [*weights][-1]))

    def of_values(*values):
        features = dict(zip(specs, values, strict=False))
        mapping = list(zip(variables, values[len(specs) :], strict=True))
        with keras.StatelessScope(mapping), replaced(_OPERATIONS):
            return compute(features)

    function = tf.function(of_values, input_signature=inputs, autograph=False)
    with quiet():  # it finds no shape for a mark
        model, _ = tf2onnx.convert.from_function(
            function,
            inputs,
            opset=_OPSET,
            custom_op_handlers={_MARK: (_convert_mark, [])},
        )
    graph = model.graph
    read_constants_from_outside(graph)
    _fill(graph, weights)
    _keep_sums_apart(graph)
    name_by_place(graph)
    onnx.save(model, str(path))


def _fill(graph, weights):
    """Makes constants of the inputs that stand for variables, by name."""
    import onnx

    read = {name for node in graph.node for name in _read(node)}
    for part in [*graph.input]:
        if part.name in weights:
            graph.input.remove(part)
        if part.name in weights.keys() & read:
            value = np.array(weights[part.name])
            graph.initializer.append(onnx.numpy_helper.from_array(value, part.name))


def fold(graph):
    """Computes what depends on constants only; returns the `onnx.GraphProto`.

    A quantized product needs its kernel as a constant, whereas the model may transpose
    or cut a variable.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    known = {tensor.name: tensor for tensor in graph.initializer}

    def fold_nodes(part):
        for node in [*part.node]:
            for body in _bodies(node):
                fold_nodes(body)
            if _bodies(node) or not node.input or not known.keys() >= {*node.input}:
                continue
            given = {n: onnx.numpy_helper.to_array(known[n]) for n in node.input}
            found = ReferenceEvaluator(node).run(None, given)
            for name, value in zip(node.output, found, strict=True):
                known[name] = onnx.numpy_helper.from_array(np.asarray(value), name)
            part.node.remove(node)

    fold_nodes(graph)
    read = {name for node in graph.node for name in _read(node)}
    del graph.initializer[:]
    graph.initializer.extend(known[name] for name in known if name in read)
    return graph


def _keep_sums_apart(graph):
    """Hides the additions before layer norms from ONNX Runtime's fusion.

    It makes one operation of both, SkipLayerNormalization, which takes its kernel for
    CPUs six times as long (docs/decisions.md, "One operation for a layer norm").
    """
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        for body in _bodies(node):
            _keep_sums_apart(body)
        maker = makers.get(node.input[0]) if node.input else None
        if node.op_type == "LayerNormalization" and maker is not None:
            if maker.op_type == "Add":
                maker.op_type = "Sum"


def _mark(operation, inputs, shape, **attributes):
    """Makes a tensor that `_convert_mark` turns into the result of an ONNX operation.

    Args:
        operation: its name.
        inputs: tensors; lists of int are constants.
        shape: the result's, None for any size; its dtype is the first input's.
        **attributes: the operation's.
    """
    inputs = [tf.convert_to_tensor(value) for value in inputs]
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
    outputs = tf.matmul(inputs, tf.convert_to_tensor(kernel))
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


_OPERATIONS = {
    "multiplied": _multiplied,
    "normalized": _normalized,
    "split_heads": _split_heads,
    "joined_heads": _joined_heads,
}


def read_constants_from_outside(graph):
    """Makes the loops of an `onnx.GraphProto` read constants from outside their bodies.

    tf2onnx passes weights from step to step as loop state, which hides from
    quantization that they are constants.
    """
    outside = {}
    loops = [node for node in graph.node if node.op_type == "Loop"]
    bodies = {loop.name: _bodies(loop)[0] for loop in loops}
    for loop in loops:
        body = bodies[loop.name]
        # A loop begins with its number of steps and its condition.
        for state in reversed(range(len(loop.input) - 2)):
            name = body.input[state + 2].name
            if body.output[state + 1].name == name:
                value = loop.input[state + 2]
                outside |= {name: value, loop.output[state]: value}
                del loop.input[state + 2], loop.output[state]
                del body.input[state + 2], body.output[state + 1]
    nodes = [*graph.node, *(node for body in bodies.values() for node in body.node)]
    for node in nodes:
        for place, name in enumerate(node.input):
            while name in outside:
                name = outside[name]
            node.input[place] = name


def name_by_place(graph):
    """Sorts the parts of an `onnx.GraphProto` and names them by their place.

    tf2onnx iterates over sets and numbers names across conversions, so each process
    would write the same model in another order, with other names. Inputs and outputs
    keep their names.
    """
    _sort(graph)
    names = {part.name: part.name for part in (*graph.input, *graph.output)}
    _name(graph, {"": "", **names}, itertools.count())


def _sort(graph):
    for node in graph.node:
        for body in _bodies(node):
            _sort(body)
    makers = {name: node for node in graph.node for name in node.output}
    places, waiting = {}, [output.name for output in reversed(graph.output)]
    while waiting:  # no recursion: a path has thousands of nodes
        name = waiting[-1]
        read = _read(makers[name]) if name in makers else ()
        missing = [other for other in read if other not in places]
        if missing and name not in places:
            waiting += reversed(missing)
        else:
            places.setdefault(waiting.pop(), len(places))
    last = len(places)
    graph.node.sort(key=lambda node: min(places.get(n, last) for n in node.output))
    graph.initializer.sort(key=lambda tensor: places.get(tensor.name, last))


def _read(node):
    """Lists the names that a node reads, including the bodies of loops and branches."""
    names = list(node.input)
    for body in _bodies(node):
        names += [name for inner in body.node for name in _read(inner)]
        names += [output.name for output in body.output]
    return names


def _name(graph, names, count):
    """Renames the parts of a sorted graph; `names` maps old names to new ones."""
    for part in (*graph.input, *graph.initializer):
        part.name = names.setdefault(part.name, f"value_{next(count)}")
    for node in graph.node:
        node.name = f"{node.op_type}_{next(count)}"
        node.input[:] = [names[name] for name in node.input]
        for body in _bodies(node):
            body.name = f"{node.name}_body"
            _name(body, dict(names), count)
        for place, name in enumerate(node.output):
            names.setdefault(name, f"{node.name}:{place}")
        node.output[:] = [names[name] for name in node.output]
    for part in graph.output:
        part.name = names[part.name]
    del graph.value_info[:]  # shapes, which runtimes infer
    graph.doc_string = ""  # TensorFlow's name of the function, with a counter


def _bodies(node):
    return [part.g for part in node.attribute if part.HasField("g")]


@contextlib.contextmanager
def quiet():
    """Silences the warnings and log messages of other libraries."""
    before = standard_logging.root.manager.disable
    standard_logging.disable(standard_logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        standard_logging.disable(before)
