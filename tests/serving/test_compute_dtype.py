"""Exports that compute in bfloat16: nearly the same probabilities."""

import contextlib
import io
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from tests.serving.answers import labelled_file

_TEXTS = ["a good film", "bad", "not good"]  # those of `labelled_file`
_TOKENS = np.array([[2, 7, 11, 9, 3, 0], [2, 5, 6, 3, 12, 3]], "int32")
_FEATURES = {
    "input_ids": _TOKENS,
    "input_mask": (_TOKENS > 0).astype("int32"),
    "segment_ids": np.array([[0] * 6, [0, 0, 0, 0, 1, 1]], "int32"),
}


@pytest.fixture(scope="module")
def compared(export_of, tmp_path_factory):
    """The export of the classifier in bfloat16, and what it prints of its quality."""
    table = labelled_file(tmp_path_factory.mktemp("labelled") / "dev.tsv")
    options = {"compute_dtype": "bfloat16", "optimize_for": "throughput"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        version = export_of("classification", eval_file=table, **options)
    return version, printed.getvalue()


@pytest.mark.slow
def test_what_another_type_costs(classifier, compared):
    version, printed = compared
    found = Predictor(version).arrays(_TEXTS)["probabilities"]
    expected = Predictor(classifier.version).arrays(_TEXTS)["probabilities"]
    change = np.abs(found - expected).max()
    assert 1e-6 < change < 0.02
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    described = json.loads((version / "signature.json").read_text())
    told = described["largest_change"]["probabilities"]
    assert told == pytest.approx(change, rel=1e-2)
    assert f"largest change of probabilities: {told:.4f}" in printed
    accuracy = described["eval"]["accuracy"]
    assert accuracy.keys() == {"original", "bfloat16"}
    assert f"accuracy: original {accuracy['original']:.4f}, bfloat16" in printed


@pytest.mark.slow
def test_weights_are_cast_once(compared):
    version, _ = compared
    loaded = tf.saved_model.load(str(version))
    weights = {v.dtype.name for v in loaded.weights if v.dtype.is_floating}
    assert weights == {"bfloat16", "float32"}
    rounded = [v for v in loaded.weights if v.dtype == tf.bfloat16]
    numbers = sum(np.prod(v.shape) for v in loaded.weights)
    assert sum(np.prod(v.shape) for v in rounded) > 0.9 * numbers
    # Products take the variables as they are.
    graph = loaded.signatures["serving_default"].graph.as_graph_def()
    nodes = [node for function in graph.library.function for node in function.node_def]
    read = {node.name for node in nodes if node.op == "ReadVariableOp"}
    products = [node for node in nodes if node.op == "MatMul"]
    rounded = [n for n in products if n.attr["T"].type == tf.bfloat16.as_datatype_enum]
    assert len(rounded) >= 6
    assert read.issuperset(node.input[1].split(":")[0] for node in rounded)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("encoder", "albert"),
        ("answerable_questions", "albert"),
        ("classification", "modernbert"),
        pytest.param("pretraining", "albert", marks=pytest.mark.nightly),
        pytest.param("tagging", "xlnet", marks=pytest.mark.nightly),
    ],
)
def test_every_head(saved_model, kind, family):
    """The numbers of bfloat16 are nearly those of float32, and all are float32."""
    folder, features, task = saved_model(kind, family), _FEATURES, "auto"
    if kind == "pretraining":
        positions = {"masked_lm_positions": np.int32([[1], [2]])}
        task, features = "masked_lm", {**features, **positions}
    elif family == "xlnet":  # pads on the left
        features = {name: values[:, ::-1] for name, values in features.items()}
    features = {name: tf.constant(values) for name, values in features.items()}
    numbers = {}
    for dtype in ("float32", "bfloat16"):
        module, _, _ = build_module([bundle.open(folder)], task, compute_dtype=dtype)
        numbers[dtype] = module.compute(features)
    for name, expected in numbers["float32"].items():
        found = numbers["bfloat16"][name]
        assert found.dtype == expected.dtype
        if found.dtype == tf.float32:
            scale = max(1, np.abs(expected).max())
            deviation = np.abs(found - expected).max() / scale
            assert 0 < deviation < 0.03, name
            # Beside the last norm's, no output is rounded to eight binary places.
            rounded = tf.cast(tf.cast(found, tf.bfloat16), tf.float32)
            is_norm = name == "sequence_output"
            assert np.array_equal(found, rounded) == is_norm, name
