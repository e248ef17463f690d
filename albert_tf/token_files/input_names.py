"""Makes an ONNX file take what clients of Hugging Face's exports send."""

from albert_tf.errors import UserError
from albert_tf.row_layout import FEATURES

HUGGINGFACE = "huggingface"
_THEIRS = ("input_ids", "attention_mask", "token_type_ids")
OWN_NAMES = dict(zip(_THEIRS, FEATURES, strict=True))
"""The feature for each of Hugging Face's names."""
_NAMES = dict(zip(FEATURES, _THEIRS, strict=True))


def check_features(features):
    """Refuses features for which Hugging Face's files have no input."""
    if others := [name for name in features if name not in _NAMES]:
        raise UserError(
            f"--input_names={HUGGINGFACE} is for files that take {', '.join(_THEIRS)}, "
            f"but this model's also takes {', '.join(others)}; leave it out."
        )


def rename_inputs(path, has_segments):
    """Gives the inputs of an ONNX file Hugging Face's names, and the type int64.

    Args:
        path: the file.
        has_segments: whether the model tells segments apart. If not, the file takes
            none, like theirs.

    Returns:
        The list of the names.
    """
    import onnx

    model = onnx.load(path)
    graph = model.graph
    inside = {name: f"{name}_int32" for name in FEATURES}
    taken = [v for v in graph.input if has_segments or v.name != "segment_ids"]
    # Without segments, the graph reads their shape alone, which is that of the ids.
    instead = {} if has_segments else {"segment_ids": inside["input_ids"]}
    _rename(graph, {**inside, **instead})
    casts = [
        onnx.helper.make_node(
            "Cast",
            [_NAMES[value.name]],
            [inside[value.name]],
            f"{inside[value.name]}_cast",
            to=onnx.TensorProto.INT32,
        )
        for value in taken
    ]
    for value in taken:
        value.name = _NAMES[value.name]
        value.type.tensor_type.elem_type = onnx.TensorProto.INT64
    for part, values in ((graph.input, taken), (graph.node, [*casts, *graph.node])):
        values = [type(value).FromString(value.SerializeToString()) for value in values]
        del part[:]
        part.extend(values)
    onnx.save(model, path)
    return [value.name for value in graph.input]


def _rename(graph, names):
    """Renames what nodes read, those of loops and branches, too."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for part in node.attribute:
            if part.HasField("g"):
                _rename(part.g, names)
