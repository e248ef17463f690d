"""ONNX and TensorFlow Lite files of every task, and of models, in their runtimes."""

import collections
import itertools
import math
from unittest import mock

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.loading import build_module_of
from albert_tf.token_files import WRITERS
from albert_tf.token_files import TokenFile
from albert_tf.token_files import check_token_file
from albert_tf.token_files import dynamic_int8
from albert_tf.token_files import onnx_graph
from albert_tf.token_files import onnx_operations
from albert_tf.token_files import round_onnx
from tests import memory
from tests import saved_models
from tests.serving import answers

_TASKS = {"pretraining": "masked_lm"}  # by the kind of a saved model; "auto" of others
_FORMS = ("int8", "float16", "tflite")
_BY_DAY = [
    ("multiple_choice", "albert", "tflite"),
    ("encoder", "bert", "int8"),
    ("tagging", "modernbert", "int8"),
    ("answerable_questions", "xlnet", "float16"),
]
_FAMILIES = ("albert", "bert", "xlnet", "modernbert", "distilbert", "electra")
_FAMILIES += ("xlm-roberta", "deberta-v2")
_OF_FAMILIES = itertools.product(saved_models.KINDS, _FAMILIES)
_AT_NIGHT = [
    answers.at_night(kind, family, form)
    for (kind, family), form in zip(_OF_FAMILIES, itertools.cycle(_FORMS))
]


def features_of(served, vocab_size):
    """Random rows of 7 and 5 tokens, of which the second is padded."""
    random = np.random.default_rng(4)
    shape = (2, *[3] * (served.task.feature_axes - 2), 7)
    mask = np.ones(shape, "int32")
    mask[1, ..., 5:] = 0
    features = {
        "input_ids": random.integers(5, vocab_size, shape, dtype="int32") * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(7) >= 3).astype("int32") * mask,
        "masked_lm_positions": np.array([[1, 4], [2, 0]], "int32"),
        "p_mask": 1 - mask,
    }
    return {name: features[name] for name in served.task.features}


@pytest.fixture
def written(opened, tmp_path):
    """Writes the ONNX file of a model; returns its module, what it serves and the path.

    The model is that of `saved_model`.
    """

    def write(kind, family="albert"):
        of_kind, task = opened(kind, family), _TASKS.get(kind, "auto")
        module, served, _ = build_module_of(of_kind.model, of_kind.tokenizer, task)
        return module, served, WRITERS["onnx"](module, served, tmp_path)

    return write


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "family", "form"), [*_BY_DAY, *_AT_NIGHT])
def test_a_model(kind, family, form, written):
    """Compares the ONNX file, and the file of another form, with the model."""
    module, served, path = written(kind, family)
    features = features_of(served, served.config.vocab_size)
    tensors = onnx.load(path).graph.initializer
    kernels = sum(math.prod(t.dims) for t in tensors if len(t.dims) > 1)
    assert kernels <= sum(math.prod(v.shape) for v in served.variables)
    found = TokenFile(path)(features)
    expected = module.compute({k: tf.constant(v) for k, v in features.items()})
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, 1e-4, 1e-5, err_msg=name)
    if form == "tflite":
        path, form = WRITERS["tflite"](module, served, path.parent), "int8"
    else:
        round_onnx(path, form)
    _, opened = check_token_file(path, features, expected, form)
    assert 0 < opened["distance"] < 0.2


@pytest.mark.slow
def test_a_graph_has_the_operations_of_onnx(written, tmp_path):
    """One for a layer norm, which ONNX Runtime cannot merge with the sum before it."""
    _, served, path = written("encoder", "bert")
    fused = tmp_path / "fused.onnx"
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(fused)
    onnxruntime.InferenceSession(path, options)
    for file in (path, fused):
        operations = (node.op_type for node in onnx.load(file).graph.node)
        count = collections.Counter(operations)
        layers = served.config.num_hidden_layers
        assert count["LayerNormalization"] == 1 + 2 * layers
        assert count["Sum"] == count["LayerNormalization"]
        assert count["Reshape"] <= 4 * layers + 2
        assert count["Shape"] <= 2
        assert "Identity" not in count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"), [("multiple_choice", (2, 3, 7)), ("encoder", (2, 7))]
)
def test_export_of_a_keras_model(kind, shape, opened, tmp_path):
    model = opened(kind).model
    model.export(tmp_path / "model.onnx", format="onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    features = {key: np.ones(shape, "int32") for key in model.exported_features}
    expected = model(features)
    if kind == "multiple_choice":
        expected = {"logits": expected}
    assert ("hidden_states" in expected) == (kind == "encoder")
    expected.pop("hidden_states", None)  # a list, which a file cannot give
    assert {value.name for value in session.get_outputs()} == {*expected}
    for name, own in expected.items():
        (found,) = session.run([name], features)
        np.testing.assert_allclose(found, own, 1e-4, 1e-5)


@pytest.mark.slow
def test_int8_rounds_weights_and_answers_nearly_the_same(
    classifier, export_of, tmp_path
):
    texts, table = ["it is a very good film .", "bad"], tmp_path / "dev.tsv"
    options = {"compute_dtype": "int8", "eval_file": answers.labelled_file(table)}
    in_bytes = export_of("classification", format="onnx", **options)
    facts = answers.described(in_bytes)
    assert facts["compute_dtype"] == "int8"
    assert 0 < facts["distance"] < facts["largest_distance"]
    assert facts["eval"]["accuracy"].keys() == {"original", "onnx"}
    assert 0 < facts["largest_change"]["probabilities"] < 0.05
    found = answers.shares(in_bytes, texts)
    assert 0 < np.abs(found - answers.shares(classifier.version, texts)).max() < 0.05
    # Neighbours move an answer, unless each is answered alone.
    alone = answers.shares(in_bytes, texts, batch_size=1)
    assert (alone != found).any()
    for text, share in zip(texts, alone, strict=True):
        np.testing.assert_array_equal(answers.shares(in_bytes, [text])[0], share)
    graph = onnx.load(in_bytes / "model.onnx").graph
    kernels = [
        onnx.numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 2
    ]
    # Each column's largest weight takes all of seven bits.
    assert {*np.concatenate([np.abs(k).max(axis=0) for k in kernels])} == {64}
    assert len(kernels) >= 6
    sizes = {node.op_type for node in graph.node}
    assert {"MatMulInteger", "DynamicQuantizeLinear", "MatMul"} <= sizes


@pytest.mark.slow
def test_int8_multiplies_by_the_table_of_words(written):
    _, served, path = written("pretraining")
    round_onnx(path, "int8")
    tensors = onnx.load(path).graph.initializer
    kernels = [t.dims for t in tensors if t.data_type == onnx.TensorProto.INT8]
    config = served.config
    assert [config.embedding_size, config.vocab_size] in kernels


@pytest.mark.slow
def test_what_tensorflow_lite_cannot_convert(written, monkeypatch):
    module, served, path = written("classification")
    converter = mock.Mock(convert=mock.Mock(side_effect=ValueError("why\nso")))
    made = mock.Mock(from_saved_model=mock.Mock(return_value=converter))
    monkeypatch.setattr(tf.lite, "TFLiteConverter", made)
    monkeypatch.setattr(tf.saved_model, "save", mock.Mock())
    message = "^TensorFlow Lite lacks operations of AlbertForSequenceClassification; ex"
    with pytest.raises(UserError, match=message):
        WRITERS["tflite"](module, served, path.parent)


def test_products_with_adapters():
    random = np.random.default_rng(0)
    shapes = (2, 3, 4), (4, 5), (4, 2), (2, 5)
    rows, kernel, down, up = (random.normal(size=s).astype("f") for s in shapes)
    multiplied = onnx_operations.OPERATIONS["multiplied"]
    np.testing.assert_allclose(multiplied(rows, kernel, None), rows @ kernel, 1e-5)
    found, merged = multiplied(rows, kernel, (down, up)), kernel + down @ up
    np.testing.assert_allclose(found, rows @ merged, 1e-5, 1e-5)


@pytest.fixture
def large(tmp_path):
    """A file of 16 products, each with a kernel of 4 MiB."""
    names = [f"rows_{place}" for place in range(17)]
    kernel = np.resize(np.float32([1, 2, 3, 4]), (1024, 1024))
    rows = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 1024])
        for name in (names[0], names[-1])
    ]
    nodes, kernels = [], []
    for place in range(16):
        inputs = [names[place], f"kernel_{place}"]
        nodes.append(onnx.helper.make_node("MatMul", inputs, [names[place + 1]]))
        kernels.append(onnx.numpy_helper.from_array(kernel, inputs[1]))
    graph = onnx.helper.make_graph(nodes, "large", rows[:1], rows[1:], kernels)
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    return path


@pytest.mark.parametrize("size", [1, 127, 128, 129, 16_383, 16_384, 2_097_152])
def test_fields_are_those_of_protobuf(size):
    content = onnx.TensorProto(raw_data=bytes(size)).SerializeToString()
    head = onnx_graph._field(onnx.TensorProto, "raw_data", size)
    assert head + bytes(size) == content
    assert onnx_graph._number(content, 1) == (size, len(head))


def test_kernels_in_bytes():
    """The largest number of a column becomes 64; a column of zeros has a scale, too."""
    kernel = np.float32([[0, 1, 3], [0, -2, 0.5]])
    tensor = onnx.numpy_helper.from_array(kernel, "a")
    values, scales = dynamic_int8._in_bytes(tensor, "")
    assert (values.name, scales.name) == ("a_bytes", "a_scales")
    found = onnx.numpy_helper.to_array(values)
    assert found.dtype == "int8" and found.tolist() == [[0, 32, 64], [0, -64, 11]]
    scales = onnx.numpy_helper.to_array(scales)
    assert scales.tolist() == [1, 2 / 64, 3 / 64]


def test_an_outline_is_saved_as_its_file(large):
    outline, copy = onnx_graph.outline(large), large.with_name("copy.onnx")
    assert outline.ByteSize() < 10_000
    onnx_graph.save(outline, {}, copy)
    assert onnx.load(copy) == onnx.load(large)


def test_int8_holds_one_weight_at_a_time(large):
    """Beside all in bytes, 16 MiB; the file has 64."""
    assert memory.added(lambda: round_onnx(large, "int8")) < 48
    assert large.stat().st_size < 17 << 20
