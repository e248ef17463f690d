"""Puts the tokenizer into an ONNX file, which then takes strings.

Operations of onnxruntime-extensions cut the texts.
"""

import dataclasses
import json
import pathlib
import tempfile
import typing

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.row_layout import FEATURES
from albert_tf.token_files import onnx_graph
from albert_tf.token_files.operations import OPERATIONS
from albert_tf.token_files.operations import operations_library
from albert_tf.tokenization.character_table import self_preparing


@dataclasses.dataclass(frozen=True)
class _Cut:
    """An operation that cuts texts.

    Attributes:
        operation: its type.
        attributes: the vocabulary.
        constants: its inputs after the texts, arrays.
        outputs: a `tf.TensorSpec` for each output that is read, by name.
        unread: names of its other outputs.
        ids: function that maps the outputs to ids, ragged int32 `[batch, (tokens)]`.
        unlike: what texts have whose ids differ from the tokenizer's.
    """

    operation: str
    attributes: dict
    constants: tuple
    outputs: dict
    unread: tuple
    ids: typing.Any
    unlike: tuple


def check_text_in(served, text_features):
    """Refuses models whose file cannot take strings.

    Raises:
        UserError: no operation cuts texts like the tokenizer, the task needs more than
            a row for each text, or onnxruntime-extensions is not installed.
    """
    task, tokenizer = served.task, served.tokenizer
    reason = None
    if task.features != FEATURES or task.reads_whole or task.text_lists or task.along:
        reason = f"a row of tokens is not all that {task.serves} needs"
    elif text_features.has_prompt:
        reason = "the model puts a prompt before texts"
    elif tokenizer.kind == "wordpiece":
        reason = "onnxruntime-extensions cuts words of unknown characters otherwise"
    elif tokenizer.kind == "byte_bpe" and tokenizer.model_type != "RoBERTa":
        reason = f"onnxruntime-extensions has no {tokenizer.model_type}'s tokenizer"
    elif _added(tokenizer):
        reason = "onnxruntime-extensions does not look for its added tokens"
    elif tokenizer.kind == "sentencepiece" and (
        tokenizer.keep_accents and tokenizer.do_lower_case
    ):
        reason = "its tokenizer lowers letters and keeps accents"
    if reason:
        raise UserError(
            f"--text_in does not fit this model, because {reason}; leave it out and "
            "use the tokenizer.json beside the file."
        )
    operations_library()


def _added(tokenizer):
    tokens = tokenizer.added.tokens if tokenizer.added else ()
    return {token.content for token in tokens} - {*tokenizer.special_pieces.values()}


def put_text_in(path, served, text_features):
    """Makes an ONNX file take the task's strings instead of token ids.

    Args:
        path: the file.
        served: the `Served` model.
        text_features: its `TextFeatures`.

    Returns:
        A tuple of what texts have that the file cuts otherwise than the tokenizer.
    """
    import onnx

    cut = _CUTS[served.tokenizer.kind](served.tokenizer, text_features.tokenizer)
    names = served.task.text_inputs
    model = onnx.load(path)
    with tempfile.TemporaryDirectory() as folder:
        rows_path = pathlib.Path(folder) / "rows.onnx"
        compute, specs = _rows_of_outputs(cut, names, text_features)
        onnx_graph.write(compute, specs, [], rows_path)
        rows = onnx.compose.add_prefix(onnx.load(rows_path), "rows_")
    rows.ir_version = model.ir_version
    between = [(f"rows_{value.name}", value.name) for value in model.graph.input]
    merged = onnx.compose.merge_models(rows, model, io_map=between)
    _take_strings(merged, cut, names)
    onnx.save(merged, path)
    return cut.unlike


def _rows_of_outputs(cut, names, text_features):
    """Returns what maps the outputs for each text, by name, to the model's features.

    Also returns a dict of each output's `tf.TensorSpec`.
    """
    specs = {
        f"{name}_{output}": tf.TensorSpec(spec.shape, spec.dtype, f"{name}_{output}")
        for name in names
        for output, spec in cut.outputs.items()
    }
    count = len(cut.outputs)

    def rows(named):
        values = [*named.values()]
        parts = (values[k : k + count] for k in range(0, len(values), count))
        return text_features.of_ids(*(cut.ids(*part) for part in parts))

    return rows, specs


def _take_strings(model, cut, names):
    """Inserts the operations before the rows of a model, an `onnx.ModelProto`."""
    import onnx

    graph = model.graph
    del graph.input[:]
    constants = [f"cut_{place}" for place, _ in enumerate(cut.constants)]
    for name, value in zip(constants, cut.constants, strict=True):
        graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    for name in names:
        text = onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.STRING, ["batch"]
        )
        outputs = [f"rows_{name}_{output}" for output in (*cut.outputs, *cut.unread)]
        node = onnx.helper.make_node(
            cut.operation,
            [name, *constants],
            outputs,
            f"cut_{name}",
            domain=OPERATIONS,
            **cut.attributes,
        )
        graph.input.append(text)
        graph.node.insert(0, node)
    model.opset_import.append(onnx.helper.make_opsetid(OPERATIONS, 1))


def _sentencepiece(tokenizer, in_graph):
    sigma = tokenizer.do_lower_case and not tokenizer.rules.as_tokenizers
    return _Cut(
        "SentencepieceTokenizer",
        {"model": self_preparing(tokenizer)},
        (np.zeros(1, "int64"), np.zeros(1, "float32"), *[np.zeros(1, bool)] * 4),
        {"ids": tf.TensorSpec([None], "int32"), "rows": tf.TensorSpec([None], "int64")},
        ("places",),
        lambda ids, rows: in_graph.divided(
            tf.RaggedTensor.from_row_splits(ids, rows, validate=False)
        ),
        (
            "the character U+0000",
            "words that have two equally good cuts",
            *(["a capital sigma at the end of a word"] if sigma else []),
        ),
    )


def _byte_bpe(tokenizer, _):
    model = json.loads(tokenizer.file_bytes)["model"]
    merges = (m if isinstance(m, str) else " ".join(m) for m in model["merges"])

    def inner(ids, mask):
        """Drops padding, and the special tokens at both ends."""
        lengths = tf.reduce_sum(mask, axis=1) - 2
        place = tf.range(tf.shape(ids, tf.int64)[1])
        is_kept = (place > 0) & (place <= lengths[:, None])
        kept = tf.cast(tf.boolean_mask(ids, is_kept), tf.int32)
        splits = tf.concat([[0], tf.cumsum(lengths)], axis=0)
        return tf.RaggedTensor.from_row_splits(kept, splits, validate=False)

    return _Cut(
        "RobertaTokenizer",
        {
            "vocab": json.dumps(model["vocab"], separators=(",", ":")),
            "merges": "\n".join(merges),
            "padding_length": -1,
        },
        (),
        {name: tf.TensorSpec([None, None], "int64") for name in ("ids", "mask")},
        ("places",),
        inner,
        (
            f"the name {tokenizer.mask_token}",
            "the characters U+0000 and U+0085",
            "words of more than 600 letters",
        ),
    )


_CUTS = {"sentencepiece": _sentencepiece, "byte_bpe": _byte_bpe}
