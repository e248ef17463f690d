"""Exports that compute in bfloat16: nearly the same probabilities."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from tests.serving.answers import some_at_night

_TEXTS = ["the film was very good .", "", "it is not a bad plot, and not a good one."]
_TOKENS = np.array([[2, 7, 11, 9, 3, 0], [2, 5, 6, 3, 12, 3]], "int32")
_FEATURES = {
    "input_ids": _TOKENS,
    "input_mask": (_TOKENS > 0).astype("int32"),
    "segment_ids": np.array([[0] * 6, [0, 0, 0, 0, 1, 1]], "int32"),
}


@pytest.fixture(scope="module")
def version(classifier, tmp_path_factory):
    """The export of the classifier in bfloat16."""
    return export(
        ExportOptions(
            str(classifier.model_dir),
            str(tmp_path_factory.mktemp("types")),
            compute_dtype="bfloat16",
            optimize_for="throughput",
        )
    )


@pytest.mark.slow
def test_probabilities_are_those_of_float32(classifier, version):
    found = Predictor(version).arrays(_TEXTS)["probabilities"]
    expected = Predictor(classifier.version).arrays(_TEXTS)["probabilities"]
    assert 1e-6 < np.abs(found - expected).max() < 0.01
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


def stored(version):
    return tf.train.list_variables(str(version / "variables/variables"))


@pytest.mark.slow
def test_weights_are_cast_once(classifier, version):
    loaded = tf.saved_model.load(str(version))
    weights = {v.dtype.name for v in loaded.weights if v.dtype.is_floating}
    assert weights == {"bfloat16", "float32"}
    rounded = [v for v in loaded.weights if v.dtype == tf.bfloat16]
    numbers = sum(np.prod(v.shape) for v in loaded.weights)
    assert sum(np.prod(v.shape) for v in rounded) > 0.9 * numbers
    assert len(stored(version)) == len(stored(classifier.version))
    # Products take the variables as they are.
    graph = loaded.signatures["serving_default"].graph.as_graph_def()
    nodes = [node for function in graph.library.function for node in function.node_def]
    read = {node.name for node in nodes if node.op == "ReadVariableOp"}
    products = [node for node in nodes if node.op == "MatMul"]
    rounded = [n for n in products if n.attr["T"].type == tf.bfloat16.as_datatype_enum]
    assert len(rounded) >= 6
    assert read.issuperset(node.input[1].split(":")[0] for node in rounded)


@pytest.mark.slow
def test_the_card_says_so(classifier, version):
    described = json.loads((version / "signature.json").read_text())
    assert described["compute_dtype"] == "bfloat16"
    assert classifier.description["compute_dtype"] == "float32"
    meaning = "usually differ from those of a float32 export"
    card = (version / "model_card.md").read_text()
    assert meaning in card
    assert "The weights and the products with them are bfloat16" in card
    assert meaning not in (classifier.version / "model_card.md").read_text()


MODELS = {
    "encoder": albert_tf.AlbertModel,
    "masked_lm": albert_tf.AlbertForMaskedLM,
    "question_answering": albert_tf.AlbertForAnswerableQuestions,
    "tagging": functools.partial(
        albert_tf.AlbertForTokenClassification, labels=("O", "B-A", "I-A")
    ),
}


@pytest.mark.parametrize("task", some_at_night(MODELS, "encoder", "question_answering"))
def test_every_head(served_config, tiny_tokenizer, tmp_path, task):
    keras.utils.set_random_seed(3)
    # Windows of questions need 68 tokens at least.
    changes = {"initializer_range": 0.1, "max_position_embeddings": 68}
    model = MODELS[task](served_config(tiny_tokenizer, **changes))
    model.save_pretrained(tmp_path / "m", tiny_tokenizer)
    check(tmp_path / "m", task, _FEATURES)


def test_blocks_of_today(served_config, tiny_tokenizer, tmp_path):
    keras.utils.set_random_seed(3)
    block = {"norm": "pre", "position_embedding_type": "rotary", "hidden_act": "geglu"}
    sizes = {"initializer_range": 0.1, "num_hidden_layers": 4}
    config = served_config(tiny_tokenizer, **sizes, **block)
    model = albert_tf.AlbertForSequenceClassification(config, labels=["no", "yes"])
    model.save_pretrained(tmp_path / "m", tiny_tokenizer)
    check(tmp_path / "m", "classification", _FEATURES)


@pytest.mark.nightly
def test_xlnet(xlnet_tokenizer, xlnet_config, tmp_path):
    keras.utils.set_random_seed(3)
    config = xlnet_config(initializer_range=0.3)
    model = albert_tf.XLNetForSequenceClassification(config, labels=("no", "yes"))
    model.save_pretrained(tmp_path / "m", xlnet_tokenizer)
    features = dict(xlnet_tokenizer(["good film", "a bad plot"]))
    check(tmp_path / "m", "auto", features)


def check(folder, task, features):
    """Compares the numbers of bfloat16 with those of float32; all are float32."""
    dtype = "bfloat16"
    if task == "masked_lm":
        features = {**features, "masked_lm_positions": np.array([[1], [2]], "int32")}
    features = {name: tf.constant(values) for name, values in features.items()}
    numbers = {}
    for computed in ("float32", dtype):
        module, _, _ = build_module([bundle.open(folder)], task, compute_dtype=computed)
        numbers[computed] = module.compute(features)
    for name, expected in numbers["float32"].items():
        found = numbers[dtype][name]
        assert found.dtype == expected.dtype
        if found.dtype == tf.float32:
            scale = max(1, np.abs(expected).max())
            deviation = np.abs(found - expected).max() / scale
            assert 0 < deviation < 0.03, name
            # Beside the last norm's, no output is rounded to eight binary places.
            rounded = tf.cast(tf.cast(found, tf.bfloat16), tf.float32)
            is_norm = name == "sequence_output"
            assert np.array_equal(found, rounded) == is_norm, name


@pytest.mark.parametrize(
    ("dtype", "options", "message"),
    [
        (
            "bfloat16",
            {"variables_dtype": "float16"},
            "float16 does not go with",
        ),
        ("bfloat16", {"optimize_for": "latency"}, "latency does not go .* with XLA"),
        (
            "bfloat16",
            {"format": "onnx"},
            "needs --format=saved_model, not onnx",
        ),
        ("int8", {}, "int8 needs --format=onnx, not saved_model"),
        ("int8", {"format": "tflite"}, "int8 needs --format=onnx, not tflite"),
    ],
)
def test_what_does_not_go_together(classifier, tmp_path, dtype, options, message):
    chosen = ExportOptions(
        str(classifier.model_dir), str(tmp_path), compute_dtype=dtype, **options
    )
    with pytest.raises(UserError, match=message):
        export(chosen)
    assert not list(tmp_path.iterdir())
