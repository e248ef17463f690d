"""Networks as ONNX graphs, converted by tf2onnx without their weights.

It would copy each weight once for each layer that reads it, many times over.
"""

import contextlib
import itertools
import logging as standard_logging
import mmap
import os
import warnings

import keras
import numpy as np
import tensorflow as tf

from albert_tf.errors import of_extra
from albert_tf.layers.replaceable import replaced
from albert_tf.token_files.onnx_operations import HANDLERS
from albert_tf.token_files.onnx_operations import OPERATIONS

_OPSET = 17
_OUTLINED = 1024  # bytes of the smallest constant that `outline` leaves in its file


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
    weights = {f"weight_{number}": value for number, value in enumerate(variables)}
    model = _converted(compute, specs, weights)
    graph = model.graph
    read_constants_from_outside(graph)
    read = {name for node in graph.node for name in _read(node)}
    for part in [*graph.input]:
        if part.name in weights:
            graph.input.remove(part)
        if part.name in weights.keys() & read:
            # The name will change; `save` looks for the other string.
            graph.initializer.add(name=part.name, doc_string=part.name)
    _keep_sums_apart(graph)
    _drop_no_axes(graph, {t.name for t in graph.initializer if t.dims == [0]})
    name_by_place(graph)
    save(model, weights, path)


def _converted(compute, specs, weights):
    """Returns an `onnx.ModelProto` whose inputs are the features and the weights."""
    with of_extra("onnx", "An ONNX file needs tf2onnx"):
        import tf2onnx
    # Of no size, or TensorFlow's optimizer would make an example of each.
    stand_ins = [
        tf.TensorSpec([None] * len(v.shape), v.dtype, name)
        for name, v in weights.items()
    ]
    inputs = [*specs.values(), *stand_ins]

    def of_values(*values):
        features = dict(zip(specs, values, strict=False))
        pairs = zip(weights.values(), values[len(specs) :], strict=True)
        mapping = [(v, tf.ensure_shape(value, v.shape)) for v, value in pairs]
        with keras.StatelessScope(mapping), replaced(OPERATIONS):
            return compute(features)

    function = tf.function(of_values, input_signature=inputs, autograph=False)
    with quiet():  # it finds no shape for a mark
        model, _ = tf2onnx.convert.from_function(
            function, inputs, opset=_OPSET, custom_op_handlers=HANDLERS
        )
    return model


def save(model, weights, path):
    """Writes an `onnx.ModelProto`, which it takes apart.

    Protobuf would hold three copies of all weights; this one copies a weight at a time,
    once. Each field of a message is a byte that says which, the length, and the
    content.

    Args:
        model: its constants with a `doc_string` stand for `weights` of that name; or an
            `outline` of another file in the same folder.
        weights: a dict of Keras variables.
        path: the file.
    """
    import onnx

    constants = [*model.graph.initializer]
    del model.graph.initializer[:]
    graph = model.graph.SerializeToString(deterministic=True)
    model.ClearField("graph")

    def fields():
        for tensor in constants:
            tensor, numbers = _apart(tensor, weights, os.path.dirname(path))
            head = tensor.SerializeToString(deterministic=True)
            if numbers.nbytes:  # the last field of the message
                head += _field(onnx.TensorProto, "raw_data", numbers.nbytes)
            length = len(head) + numbers.nbytes
            yield _field(onnx.GraphProto, "initializer", length) + head, numbers

    length = len(graph) + sum(len(head) + n.nbytes for head, n in fields())
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
        file.write(_field(onnx.ModelProto, "graph", length) + graph)
        for head, numbers in fields():
            file.write(head)
            file.write(numbers)


def _apart(tensor, weights, folder):
    """Returns a constant and, for one that stands for them, its numbers; see `save`."""
    import onnx

    if tensor.external_data:
        numbers = onnx.numpy_helper.to_array(tensor, folder)
    elif tensor.doc_string:
        numbers = np.asarray(weights[tensor.doc_string])
    else:
        return tensor, np.zeros(0)
    dtype = onnx.helper.np_dtype_to_tensor_dtype(numbers.dtype)
    tensor = onnx.TensorProto(dims=numbers.shape, data_type=dtype, name=tensor.name)
    return tensor, numbers


def _field(message, name, length):
    """Returns the bytes before a field of some length."""
    head = [message.DESCRIPTOR.fields_by_name[name].number << 3 | 2]
    while length > 127:
        head.append(length % 128 + 128)
        length //= 128
    return bytes([*head, length])


def outline(path):
    """Reads an ONNX file without its weights.

    Protobuf would hold the bytes of the file and the weights together.

    Args:
        path: a file that `save` wrote.

    Returns:
        An `onnx.ModelProto` whose large constants are external, to be read from where
        they lie in the file.
    """
    import onnx

    model = onnx.ModelProto()
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        _merge_outline(model, content, 0, len(content), path.name)
    return model


def _merge_outline(message, content, start, end, name):
    """Adds the fields between two places of a file, of that name, to a message.

    A field begins with its number and the kind of its content, which is a number or,
    for kind 2, that many bytes.
    """
    while start < end:
        key, place = _number(content, start)
        size, place = _number(content, place)
        stop = place + size if key & 7 == 2 else place
        field = message.DESCRIPTOR.fields_by_number[key >> 3].name
        if field in ("graph", "initializer"):
            part = getattr(message, field)
            part = part.add() if field == "initializer" else part
            _merge_outline(part, content, place, stop, name)
        elif field == "raw_data" and size >= _OUTLINED:
            message.data_location = message.EXTERNAL
            where = {"location": name, "offset": place, "length": size}
            for entry, value in where.items():
                message.external_data.add(key=entry, value=str(value))
        else:
            message.MergeFromString(content[start:stop])
        start = stop


def _number(content, place):
    """Returns a number, seven bits a byte, the lowest first, and the place behind."""
    number, shift = content[place] & 127, 7
    while content[place] > 127:
        place += 1
        number |= (content[place] & 127) << shift
        shift += 7
    return number, place + 1


def fold(graph, folder=""):
    """Computes what depends on constants only; returns the `onnx.GraphProto`.

    A quantized product needs its kernel as a constant, whereas the model may transpose
    or cut a variable.

    Args:
        graph: the `onnx.GraphProto`.
        folder: where the file of an `outline` lies.
    """
    known = {tensor.name: tensor for tensor in graph.initializer}
    there = {*known}
    _fold_nodes(graph, known, folder)
    read = {name for node in graph.node for name in _read(node)}
    graph.initializer.extend(known[n] for n in known if n in read - there)
    drop_unread(graph)
    return graph


def _fold_nodes(part, known, folder):
    """Takes what `fold` computes out of a graph or a body, and adds it to `known`."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    for node in [*part.node]:
        for body in bodies(node):
            _fold_nodes(body, known, folder)
        needed = {output.name for output in part.output} & {*node.output}
        is_known = node.input and known.keys() >= {*node.input}
        if bodies(node) or needed or not is_known:
            continue
        given = {n: onnx.numpy_helper.to_array(known[n], folder) for n in node.input}
        found = ReferenceEvaluator(node).run(None, given)
        for name, value in zip(node.output, found, strict=True):
            known[name] = onnx.numpy_helper.from_array(np.asarray(value), name)
        part.node.remove(node)


def drop_unread(graph):
    """Removes the constants that no node reads."""
    read = {name for node in graph.node for name in _read(node)}
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name not in read:
            del graph.initializer[place]


def _keep_sums_apart(graph):
    """Hides the additions before layer norms from ONNX Runtime's fusion.

    It makes one operation of both, SkipLayerNormalization, which takes its kernel for
    CPUs six times as long (docs/decisions.md, "One operation for a layer norm").
    """
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        for body in bodies(node):
            _keep_sums_apart(body)
        maker = makers.get(node.input[0]) if node.input else None
        is_norm = node.op_type == "LayerNormalization" and maker is not None
        if is_norm and maker.op_type == "Add":
            maker.op_type = "Sum"


def _drop_no_axes(graph, empty):
    """Makes each Unsqueeze whose axes are a constant of `empty` an Identity.

    tf2onnx puts one behind a slice of a size that it does not know; OpenVINO adds an
    axis all the same.
    """
    for node in graph.node:
        for body in bodies(node):
            _drop_no_axes(body, empty)
        if node.op_type == "Unsqueeze" and node.input[1] in empty:
            node.op_type = "Identity"
            del node.input[1]


def read_constants_from_outside(graph):
    """Makes the loops of an `onnx.GraphProto` read constants from outside their bodies.

    tf2onnx passes weights from step to step as loop state, which hides from
    quantization that they are constants.
    """
    outside = {}
    loops = [node for node in graph.node if node.op_type == "Loop"]
    inside = {loop.name: bodies(loop)[0] for loop in loops}
    for loop in loops:
        body = inside[loop.name]
        # A loop begins with its number of steps and its condition.
        for state in reversed(range(len(loop.input) - 2)):
            name = body.input[state + 2].name
            if body.output[state + 1].name == name:
                value = loop.input[state + 2]
                outside |= {name: value, loop.output[state]: value}
                del loop.input[state + 2], loop.output[state]
                del body.input[state + 2], body.output[state + 1]
    nodes = [*graph.node, *(node for body in inside.values() for node in body.node)]
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
        for body in bodies(node):
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
    for body in bodies(node):
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
        for body in bodies(node):
            body.name = f"{node.name}_body"
            _name(body, dict(names), count)
        for place, name in enumerate(node.output):
            names.setdefault(name, f"{node.name}:{place}")
        node.output[:] = [names[name] for name in node.output]
    for part in graph.output:
        part.name = names[part.name]
    del graph.value_info[:]  # shapes, which runtimes infer
    graph.doc_string = ""  # TensorFlow's name of the function, with a counter


def bodies(node):
    """Lists the graphs inside a node: a loop's or a branch's."""
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
