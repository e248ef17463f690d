"""ONNX and TensorFlow Lite files of every task, and of models, in their runtimes."""

import dataclasses
import itertools
import json
import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.loading import build_module_of
from albert_tf.serving.predictor import Predictor
from albert_tf.serving.writing import _example_requests
from albert_tf.tasks.registry import create_task
from albert_tf.token_files import WRITERS
from albert_tf.token_files import TokenFile
from albert_tf.token_files import check_token_file
from albert_tf.token_files import round_onnx
from albert_tf.token_files import write_onnx
from tests.serving.answers import some_at_night

_TAGS = create_task("tagging", "t", labels=("O", "B-A", "I-A"))
_CLASSIFIER = albert_tf.AlbertForSequenceClassification
_LONG = {"max_position_embeddings": 128}  # room for a question and its context
# In the last block, which computes some tokens only, they see their neighbours.
_LOCAL = {
    "local_attention_window": 4,
    "global_attention_every": 2,
    "num_hidden_layers": 2,
}
# By name: the model of a config, what it answers, and changes of the config.
_HEADS = {
    "single_label": (lambda c: _CLASSIFIER(c, labels=["a", "b", "c"]), "auto", _LOCAL),
    "multi_label": (
        lambda c: _CLASSIFIER(c, labels=["a", "b"], label_kind="multi_label"),
        "auto",
        {},
    ),
    "regression": (lambda c: _CLASSIFIER(c, label_kind="regression"), "auto", {}),
    "tagging": (lambda c: _TAGS.model_class(c, labels=_TAGS.labels), "auto", {}),
    "choices": (albert_tf.AlbertForMultipleChoice, "auto", {}),
    "spans": (albert_tf.AlbertForQuestionAnswering, "auto", _LONG),
    "answers": (
        lambda c: albert_tf.AlbertForAnswerableQuestions(c, start_n_top=3, end_n_top=2),
        "auto",
        {**_LONG, "initializer_range": 0.2},  # so that tokens score differently
    ),
    "masked_lm": (albert_tf.AlbertForMaskedLM, "auto", _LOCAL),
    "pretraining": (albert_tf.AlbertForPreTraining, "masked_lm", {}),
    "encoder": (albert_tf.AlbertModel, "auto", {}),
    "embedding": (albert_tf.AlbertModel, "embedding", {}),
    "unshared": (  # BERT
        lambda c: _CLASSIFIER(c, labels=["a", "b"]),
        "auto",
        {"num_hidden_groups": 2, "num_hidden_layers": 2},
    ),
    "modern": (
        albert_tf.AlbertForPreTraining,
        "auto",
        {
            "position_embedding_type": "rotary",
            "norm": "pre",
            "use_bias": False,
            "initializer_range": 0.2,
            **_LOCAL,
        },
    ),
}
_ACTIVATIONS = ("geglu", "relu", "gelu", "gelu_erf")
# Each task in one of the formats and with one of the activations; the others at night.
_GRID = [
    pytest.param(
        name,
        act,
        file_format,
        marks=[pytest.mark.nightly] * ((place + other) % 2),
        id=f"{name}-{file_format}",
    )
    for place, (name, act) in enumerate(zip(_HEADS, itertools.cycle(_ACTIVATIONS)))
    for other, file_format in enumerate(WRITERS)
]
_ROUNDED = ("tagging", "choices", "answers", "encoder")
_OTHER_TYPES = ("int8", "float16")
_TOLERANCES = {"onnx": 1e-5, "tflite": 0.1}  # weights of eight bits


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


def check(module, served, vocab_size, folder, file_format="onnx"):
    features = features_of(served, vocab_size)
    path = WRITERS[file_format](module, served, folder)
    found = TokenFile(path)(features)
    expected = module.compute({k: tf.constant(v) for k, v in features.items()})
    assert found.keys() == expected.keys()
    if "start_top_index" in found:
        found, expected = scores_of_beams(found, expected, features, served.model)
    for name, values in expected.items():
        np.testing.assert_allclose(
            found[name], values, atol=_TOLERANCES[file_format], err_msg=name
        )
    return path, features


def scores_of_beams(found, expected, features, model):
    """Replaces the tokens that a file finds by what the model thinks of them.

    Of two tokens that score alike, weights of eight bits may choose the other one, and
    the ends that follow are another start's. So each must score, in the model, as much
    as the file says and as the model's own choice.
    """
    starts = found["start_top_index"]  # [B, starts]
    ends = found["end_top_index"].reshape(*starts.shape, -1)  # [B, starts, ends]
    asked = [model({**features, "start_positions": s}) for s in starts.T]
    start = np.array(asked[0]["start_log_probs"])  # [B, T]
    end = np.stack([a["end_log_probs"] for a in asked], 1)  # [B, starts, T]
    best = np.sort(end)[..., : -ends.shape[-1] - 1 : -1]
    own_starts = np.take_along_axis(start, starts, -1)
    own_ends = np.take_along_axis(end, ends, -1).reshape(best.shape)
    flat = (len(starts), -1)
    found = {
        **found,
        "start_top_index": own_starts,
        "end_top_index": own_ends.reshape(flat),
    }
    expected = {
        **expected,
        "start_top_index": expected["start_top_log_probs"],
        "end_top_log_probs": best.reshape(flat),
        "end_top_index": best.reshape(flat),
    }
    return found, expected


@pytest.mark.slow
@pytest.mark.parametrize(("name", "act", "file_format"), _GRID)
def test_a_head(name, act, file_format, tiny_tokenizer, served_config, tmp_path):
    """In either format, and some in ONNX's other types."""
    make, task, changes = _HEADS[name]
    model = make(served_config(tiny_tokenizer, hidden_act=act, **changes))
    module, served, _ = build_module_of(model, tiny_tokenizer, task)
    sizes = tiny_tokenizer.vocab_size, tmp_path, file_format
    path, features = check(module, served, *sizes)
    for dtype in _OTHER_TYPES if file_format == "onnx" and name in _ROUNDED else ():
        rounded = shutil.copy(path, tmp_path / f"{dtype}.onnx")
        round_onnx(rounded, dtype)
        opened = check_token_file(rounded, module.compute, features, dtype)
        assert 0 < opened["distance"] < 0.1


@pytest.mark.slow
def test_xlnet(xlnet_tokenizer, xlnet_config, tmp_path):
    config = xlnet_config(initializer_range=0.5, ff_activation="gelu_erf")
    model = albert_tf.XLNetForSequenceClassification(config, labels=["a", "b"])
    module, served, _ = build_module_of(model, xlnet_tokenizer)
    features = xlnet_tokenizer(["a good film", "bad"], padding=True)
    found = TokenFile(write_onnx(module, served, tmp_path))(features)
    expected = module.compute({k: tf.constant(v) for k, v in features.items()})
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, atol=1e-5)


# By name: the model of an XLNet's config, what it answers, and one of the formats.
_XLNET_HEADS = {
    "tagging": (
        lambda c: albert_tf.XLNetForTokenClassification(c, labels=_TAGS.labels),
        "auto",
        "int8",
    ),
    "choices": (albert_tf.XLNetForMultipleChoice, "auto", "float16"),
    "spans": (albert_tf.XLNetForQuestionAnsweringSimple, "auto", "tflite"),
    "answers": (
        lambda c: albert_tf.XLNetForQuestionAnswering(c, start_n_top=3, end_n_top=2),
        "auto",
        "int8",
    ),
    "masked_lm": (albert_tf.XLNetLMHeadModel, "masked_lm", "float16"),
    "embedding": (albert_tf.XLNetForTextEmbedding, "auto", "tflite"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some_at_night(_XLNET_HEADS, "answers", "embedding"))
def test_an_xlnet_head(name, xlnet_tokenizer, xlnet_config, tmp_path):
    """Each task in float32, and in one other form."""
    make, task, other = _XLNET_HEADS[name]
    sizes = {"d_model": 32, "d_head": 16, "d_inner": 64, "initializer_range": 0.3}
    model = make(xlnet_config(ff_activation="gelu_erf", **sizes))
    module, served, _ = build_module_of(model, xlnet_tokenizer, task)
    request = module.compute, _example_requests(module, served)["tokens"]
    path = WRITERS["onnx"](module, served, tmp_path)
    assert check_token_file(path, *request)["distance"] < 1e-5
    if other == "tflite":
        path, other = WRITERS["tflite"](module, served, tmp_path), "int8"
    else:
        round_onnx(path, other)
    assert 0 < check_token_file(path, *request, other)["distance"] < 0.1


@pytest.mark.slow
def test_several_heads(classifier, tiny_tokenizer, tmp_path):
    tasks = {"mood": ("no", "yes"), "kind": ("a", "b", "c")}
    for name, labels in tasks.items():
        model = _CLASSIFIER.from_pretrained(classifier.model_dir, labels=labels)
        task = create_task("single_label", name, labels=labels)
        model.save_pretrained(tmp_path / name, tiny_tokenizer, {"task": task.to_dict()})
    module, served, _ = build_module([bundle.open(tmp_path / name) for name in tasks])
    check(module, served, tiny_tokenizer.vocab_size, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    some_at_night(["single_label", "choices", "encoder", "pretraining"], "choices"),
)
def test_export_of_a_keras_model(name, tiny_tokenizer, served_config, tmp_path):
    make, _, changes = _HEADS[name]
    model = make(served_config(tiny_tokenizer, **changes))
    model.export(tmp_path / "model.onnx", format="onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    shape = (2, *[3] * (model.feature_axes - 2), 7)
    features = {key: np.ones(shape, "int32") for key in model.exported_features}
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, features), strict=True))
    expected = model(features)
    if not isinstance(expected, dict):
        expected = {"logits": expected}
    expected.pop("hidden_states", None)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, atol=1e-5)


def test_int8(classifier, tmp_path):
    texts = ["it is a very good film .", "bad"]
    expected = Predictor(classifier.version).arrays(texts)["probabilities"]
    options = ExportOptions(str(classifier.model_dir), str(tmp_path), format="onnx")
    version = export(dataclasses.replace(options, compute_dtype="int8"))
    described = json.loads((version / "signature.json").read_text())
    assert described["compute_dtype"] == "int8"
    assert 0 < described["distance"] < described["largest_distance"]
    found = Predictor(tmp_path).arrays(texts)["probabilities"]
    assert 0 < np.abs(found - expected).max() < 0.02
    # Neighbours move an answer, unless each is answered alone.
    served = Predictor(tmp_path)
    alone = served.arrays(texts, batch_size=1)["probabilities"]
    assert (alone != found).any()
    for text, expected in zip(texts, alone, strict=True):
        np.testing.assert_array_equal(
            served.arrays([text])["probabilities"][0], expected
        )
    graph = onnx.load(version / "model.onnx").graph
    kernels = [
        onnx.numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 2
    ]
    # A column's largest weight takes all of seven bits.
    assert {int(np.abs(k.astype(int)).max()) for k in kernels} <= {63, 64}
    assert len(kernels) >= 6
    sizes = {node.op_type for node in graph.node}
    assert {"MatMulInteger", "DynamicQuantizeLinear", "MatMul"} <= sizes


_ASKED = {
    "tagging": ("it is a good film . the plot was bad",),
    "choices": ("the film was _", "a good plot", ["good", "bad", "a film"]),
    "spans": ("is it good", "it is a good film . the plot was bad"),
    "answers": ("is it good", "it is a good film . the plot was bad"),
    "masked_lm": ("it is a [MASK] film , not [MASK]",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some_at_night(_ASKED, "answers", "masked_lm"))
def test_strings_are_answered_as_by_the_model(
    name, tiny_tokenizer, served_config, tmp_path
):
    make, _, changes = _HEADS[name]
    changes = {"initializer_range": 0.3, **changes}
    model = make(served_config(tiny_tokenizer, **changes))
    model.save_pretrained(tmp_path / "m", tiny_tokenizer)
    export(ExportOptions(str(tmp_path / "m"), str(tmp_path / "served"), format="onnx"))
    found = Predictor(tmp_path / "served")(*_ASKED[name])
    expected = Predictor(model, tiny_tokenizer)(*_ASKED[name])
    assert _rounded(found) == _rounded(expected)


def _rounded(answer):
    return json.loads(json.dumps(answer), parse_float=lambda x: round(float(x), 3))
