"""Served models whose texts leave early."""

import shutil

import numpy as np
import onnx
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.base import seeded
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.registry import create_task
from albert_tf.token_files import round_onnx
from tests.serving.answers import described
from tests.serving.answers import exported
from tools import early_exit
from tools import exit_curve

_LAYERS = 6
_TEXTS = [
    "the film was good",
    "bad",
    "it is not a very good one .",
    "the plot , the film",
    "not good and not bad",
    "very bad",
    "good",
]


@pytest.fixture(scope="module")
def model(family_config, tiny_tokenizer):
    """A model whose heads' answers change from layer to layer."""
    sizes = {"num_hidden_layers": _LAYERS, "initializer_range": 0.4}
    config = family_config("albert", tiny_tokenizer, **sizes)
    with seeded(5):
        model = albert_tf.AlbertForSequenceClassification(
            config,
            labels=["no", "so", "yes"],
            exit_heads="per_layer",
            exit_rule={"name": "patience", "threshold": 1},
        )
    for head in (model.classifier, model.exit_classifiers):
        head.output_weights.assign(30 * head.output_weights)
    return model


@pytest.fixture(scope="module")
def model_dir(model, tiny_tokenizer, tmp_path_factory):
    directory = tmp_path_factory.mktemp("early")
    task = create_task("single_label", "t", labels=("no", "so", "yes"))
    info = {"task": task.to_dict(), "max_seq_length": 24}
    model.save_pretrained(directory, tiny_tokenizer, info)
    return directory


@pytest.fixture(scope="module")
def expected(model, tiny_tokenizer):
    shares, depths = [], []
    for text in _TEXTS:
        logits, layers = model.leave_early(tiny_tokenizer([text]))
        shares.append(tf.nn.softmax(logits).numpy()[0])
        depths.append(int(layers[0]))
    assert len(set(depths)) > 1
    return np.array(shares), depths


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 1e-5),
        ({"optimize_for": "throughput"}, 1e-5),
        ({"compute_dtype": "bfloat16"}, 0.2),
        ({"compute_dtype": "int8", "format": "onnx"}, 0.2),
    ],
)
def test_an_export_answers_as_texts_alone(model_dir, expected, tmp_path, options, most):
    version = exported(model_dir, tmp_path, **options)
    shares, depths = expected
    found = Predictor(version).arrays(_TEXTS)
    same = found["exit_layer"] == depths
    assert same.mean() > 0.5 if most > 1e-5 else same.all()
    difference = np.abs(found["probabilities"] - shares)[same]
    assert difference.max() < most


def _graph(path):
    """The graph of a file, and the operations in the body of its loop."""
    graph = onnx.load(path).graph
    (loop,) = (node for node in graph.node if node.op_type == "Loop")
    (body,) = (part.g for part in loop.attribute if part.name == "body")
    return graph, [node.op_type for node in body.node]


@pytest.mark.slow
def test_onnx_holds_the_block_once(model, model_dir, expected, tmp_path):
    version = exported(model_dir, tmp_path, format="onnx")
    rule = {"name": "patience", "threshold": 1, "tolerance": 0.1}
    assert described(version)["exit_rule"] == rule
    graph, body = _graph(version / "model.onnx")
    assert body.count("MatMul") >= 6  # of one block
    size = sum(len(weights.raw_data) for weights in graph.initializer)
    assert size < 1.2 * sum(weights.nbytes for weights in model.get_weights())
    shares, depths = expected
    found = Predictor(version).arrays(_TEXTS)
    np.testing.assert_allclose(found["probabilities"], shares, atol=1e-5)
    assert found["exit_layer"].tolist() == depths
    # In bytes, too, the loop has the products.
    rounded = shutil.copy(version / "model.onnx", tmp_path / "int8.onnx")
    round_onnx(rounded, "int8")
    graph, body = _graph(rounded)
    assert body.count("MatMulInteger") == 7  # of the block, and of the pooler
    kernels = [w.dims for w in graph.initializer if w.data_type == 3]  # int8
    assert [32, 64] in kernels


@pytest.mark.slow
def test_the_rule_can_be_overridden(model, model_dir, tiny_tokenizer):
    full = tf.nn.softmax(model(tiny_tokenizer(_TEXTS, padding=True))).numpy()
    found = Predictor(model_dir, exit_rule="none").arrays(_TEXTS)
    np.testing.assert_allclose(found["probabilities"], full, atol=1e-5)
    assert "exit_layer" not in found
    deeper = Predictor(model, tiny_tokenizer, exit_rule={"threshold": _LAYERS - 1})
    assert deeper.arrays(_TEXTS)["exit_layer"].tolist() == [_LAYERS] * len(_TEXTS)


def test_forms_without_early_answers(model_dir, tmp_path):
    static = {"compute_dtype": "int8", "calibration_file": "t"}
    deep = "leave --calibration_file out, or answer at full depth"
    for flags, told in (
        ({"optimize_for": "latency"}, "needs to know how many rows stay"),
        ({"format": "tflite"}, "tflite has no rows that leave early"),
        ({"format": "onnx", **static}, deep),
        ({"format": "openvino", **static}, "openvino has no rows that leave early"),
        ({"exit_threshold": 6.0}, "take a number below 6"),
    ):
        with pytest.raises(UserError, match=told):
            exported(model_dir, tmp_path, **flags)


@pytest.mark.slow
def test_the_command_draws_the_curve_and_keeps_a_rule(model_dir, tmp_path, monkeypatch):
    rows = [f"{text}\t{('no', 'so', 'yes')[i % 3]}" for i, text in enumerate(_TEXTS)]
    table = tmp_path / "dev.tsv"
    table.write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    model_dir = shutil.copytree(model_dir, tmp_path / "model")
    argv = ["early_exit", f"--model_dir={model_dir}", f"--eval_file={table}"]
    monkeypatch.setattr(exit_curve, "_THRESHOLDS", 3)
    early_exit.main([*argv, f"--output_dir={tmp_path}", "--timed_rows=4"])
    _, *lines = (tmp_path / "early_exit.tsv").read_text().splitlines()
    full, *points = (line.split("\t") for line in lines)
    assert (full[0], float(full[3])) == ("full depth", _LAYERS)
    depths = {}
    for rule, _, _, layers, _ in points:
        depths.setdefault(rule, []).append(float(layers))
    assert list(depths) == ["patience", "entropy", "probability"]
    assert len(depths["patience"]) == _LAYERS - 1
    assert depths["entropy"] == sorted(depths["entropy"])
    early_exit.main([*argv[:2], "--keep_rule", f"--exit_threshold={_LAYERS - 1}"])
    kept = bundle.open(model_dir).model().exit_rule
    assert (kept.name, kept.threshold) == ("patience", _LAYERS - 1)
