"""Operations of an exported model by their share of a request's time."""

import collections
import re

import tensorflow as tf
import tensorflow_text  # noqa: F401  # registers the tokenizer's operations

# Parts of the names of a group's operations; the first group that fits counts.
_GROUPS = {
    "attention": "BatchMatMul|Einsum|Transpose|Softmax",
    "products": "MatMul",
    "shapes": "Shape|Reshape|StridedSlice|Pack|Concat|Gather|Prod|ExpandDims|Const",
    "element-wise": "Add|Mul|Sub|Square|Tanh|Mean|Rsqrt|Cast|Select",
}


def operation_times(version, text, requests=8):
    """Measures how often and how long each group of operations runs in a request.

    Args:
        version: directory of a SavedModel whose `serving_default` takes `text`.
        text: a str.
        requests: of which the fastest is taken.

    Returns:
        Dict by group of (operations, microseconds), the longest first; "others" are
        the loop, the tokenizer and the checks of the request. Operations may overlap.
    """
    compat = tf.compat.v1
    options = compat.RunOptions(trace_level=compat.RunOptions.FULL_TRACE)
    traces = []
    with tf.Graph().as_default(), compat.Session() as session:
        graph = compat.saved_model.load(session, ["serve"], str(version))
        signature = graph.signature_def["serving_default"]
        outputs = [tensor.name for tensor in signature.outputs.values()]
        feed = {signature.inputs["text"].name: [text]}
        for _ in range(requests):
            metadata = compat.RunMetadata()
            session.run(outputs, feed, options, metadata)
            traces.append(_times(metadata.step_stats))
    best = min(traces, key=lambda times: sum(micros for _, micros in times.values()))
    return dict(sorted(best.items(), key=lambda item: -item[1][1]))


def _times(step_stats):
    found = collections.defaultdict(lambda: (0, 0))
    for device in step_stats.dev_stats:
        for node in device.node_stats:
            group = _group(node.timeline_label)
            count, micros = found[group]
            took = node.op_end_rel_micros - node.op_start_rel_micros
            found[group] = count + 1, micros + took
    return dict(found)


def _group(label):
    """Returns the group of an operation of a trace, `name = Operation(inputs)`."""
    operation = label.partition(" = ")[2].partition("(")[0]
    fitting = (g for g, names in _GROUPS.items() if re.search(names, operation))
    return next(fitting, "others")
