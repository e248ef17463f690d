"""Static int8, in ONNX Runtime and OpenVINO: ranges of texts in place of calls."""

import shutil
import sys

import numpy as np
import onnx
import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving import calibration
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.token_files import TokenFile
from tests.serving import answers
from tests.serving.answers import TEXTS

_ONE_EACH = {"openvino": "model.xml", "onnx": "model.onnx"}
_STATIC = {"compute_dtype": "int8"}


@pytest.fixture(scope="module")
def texts_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(text.replace("\n", " ") for text in TEXTS))
    return str(path)


@pytest.fixture
def with_openvino():
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")


def check_static(version, float32):
    """Checks that answers are nearly the same, and the same beside any others."""
    facts = answers.described(version)
    assert facts["compute_dtype"] == "int8"
    assert answers.described(float32)["compute_dtype"] == "float32"
    assert facts["calibration_rows"] == len([*filter(None, TEXTS)])
    assert 0 < facts["distance"] < 0.1
    found = answers.shares(version, TEXTS)
    assert 0 < np.abs(found - answers.shares(float32, TEXTS)).max() < 0.05
    alone = answers.shares(version, TEXTS, batch_size=1)
    np.testing.assert_allclose(alone, found, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_onnx(export_of, texts_file):
    float32 = export_of("classification", format="onnx")
    options = {"format": "onnx", "calibration_file": texts_file, **_STATIC}
    version = export_of("classification", **options)
    check_static(version, float32)
    graph = onnx.load(version / "model.onnx").graph
    kinds = [node.op_type for node in graph.node]
    assert "DynamicQuantizeLinear" not in kinds
    weights = [
        np.abs(onnx.numpy_helper.to_array(tensor).astype(int)).max()
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 2
    ]
    assert len(weights) >= 6
    assert {*weights} <= {63, 64}  # of seven bits
    # Products of two activations, of attention, stay in float32, as results do.
    made = {node.output[0]: node.op_type for node in graph.node}
    products = [node for node in graph.node if node.op_type == "MatMul"]
    rounded = [n for n in products if made.get(n.input[0]) == "DequantizeLinear"]
    assert len(products) > len(rounded) == len(weights)
    quantized = (n.input[0] for n in graph.node if n.op_type == "QuantizeLinear")
    assert "MatMul" not in map(made.get, quantized)


@pytest.mark.slow
@pytest.mark.usefixtures("with_openvino")
def test_openvino(export_of, texts_file, tmp_path):
    float32 = export_of("classification", format="openvino")
    names = {path.name for path in float32.iterdir()}
    assert {"model.xml", "model.bin", "tokenizer.json", "signature.json"} <= names
    found = answers.shares(float32, TEXTS)
    of_onnx = answers.shares(export_of("classification", format="onnx"), TEXTS)
    np.testing.assert_allclose(found, of_onnx, rtol=0, atol=1e-5)
    options = {"format": "openvino", "calibration_file": texts_file, **_STATIC}
    version = export_of("classification", **options)
    check_static(version, float32)
    assert "FakeQuantize" in (version / "model.xml").read_text()
    assert sys.modules.get("openvino_telemetry") is None
    shutil.copytree(version, tmp_path / "2")
    (tmp_path / "2" / "model.bin").write_bytes(b"other")
    with pytest.raises(UserError, match="model.bin is damaged: its SHA-256"):
        Predictor(tmp_path / "2")


@pytest.mark.nightly
@pytest.mark.usefixtures("with_openvino")
def test_the_same_command_writes_the_same_bytes(
    export_of, saved_model, texts_file, tmp_path
):
    options = {"format": "openvino", "calibration_file": texts_file, **_STATIC}
    version = export_of("classification", **options)
    target = tmp_path / version.parent.name
    again = answers.exported(saved_model("classification"), target, **options)
    sums = [(v / "SHA256SUMS").read_text() for v in (version, again)]
    assert sums[0] == sums[1]


@pytest.mark.nightly
@pytest.mark.usefixtures("with_openvino")
@pytest.mark.parametrize(
    ("kind", "family", "line"),
    [
        ("pairs", "bert", "a good film\tbad"),
        ("question_answering", "albert", "is it good\tit is a good film"),
        ("answerable_questions", "xlnet", "is it good\tit is a good film"),
        ("multiple_choice", "albert", "it is\tthe film\tgood\tvery bad"),
        ("tagging", "modernbert", "it is a good film"),
        ("encoder", "roberta", "it is a good film"),
    ],
)
@pytest.mark.parametrize("form", _ONE_EACH)
def test_other_models(kind, family, line, form, saved_model, tmp_path):
    """The export compares them with the original."""
    path = tmp_path / "texts"
    path.write_text(line)
    options = {"format": form, "calibration_file": str(path), **_STATIC}
    version = answers.exported(saved_model(kind, family), tmp_path / "m", **options)
    assert TokenFile(version / _ONE_EACH[form]).outputs


@pytest.fixture
def rows_of(saved_model, tmp_path):
    """Makes a function from a kind of model and the bytes of a file to its rows."""

    def rows(kind, content, **options):
        path = tmp_path / "texts.txt"
        path.write_bytes(content)
        module, served, _ = build_module([bundle.open(saved_model(kind))], **options)
        return calibration.calibration_rows(path, module, served.task)

    return rows


def test_rows_are_those_of_the_model(rows_of, monkeypatch):
    rows = rows_of("pairs", "\ufeffgood\tbad\r\n\nnot good\ta film".encode())
    assert [row["input_ids"].shape for row in rows] == [(1, 5), (1, 7)]
    assert rows[0]["segment_ids"].tolist() == [[0, 0, 0, 1, 1]]
    (row,) = rows_of("multiple_choice", b"it is\tthe film\tgood\tvery bad")
    assert row["input_ids"].shape[:2] == (1, 2)
    lines = b"a good film\nit is [MASK]"  # of which one asks for something
    (row,) = rows_of("pretraining", lines, task="masked_lm")
    assert row["masked_lm_positions"].shape == (1, 1)
    monkeypatch.setattr(calibration, "_MOST_LINES", 3)
    assert len(rows_of("pairs", b"good\tbad\n" * 7)) == 3  # every third


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n\n", "has no text that the model answers; expected 100 to 500"),
        (b"good\tbad\ngood", "Line 2 of .* has 1 texts .* model takes text, text_pair"),
        (b"good\tbad\tfilm", "Line 1 of .* has 3 texts .* takes text, text_pair"),
        (b"\xff\tgood", "texts.txt is not UTF-8"),
    ],
)
def test_a_file_without_texts(rows_of, content, message):
    with pytest.raises(UserError, match=message):
        rows_of("pairs", content)


def test_a_runtime_that_is_missing(tmp_path, monkeypatch):
    (tmp_path / "model.xml").write_text("<net/>")
    (tmp_path / "model.bin").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(UserError, match=r"pip install 'albert-tf\[openvino\]'"):
        TokenFile(tmp_path / "model.xml")
