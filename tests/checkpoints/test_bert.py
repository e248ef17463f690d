"""BERT's checkpoints give the same numbers here as in Hugging Face's library.

`golden/bert.npz` holds a tiny `BertForPreTraining` of transformers 5.23 with random
weights, biases and norms, and its outputs, with the exact GELU and with that by tanh.
"""

import json

import numpy as np
import pytest
import safetensors.numpy

import albert_tf
from albert_tf.errors import UserError
from tests.checkpoints.conftest import write_tf1

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# The names of the official code that are not those of Hugging Face with slashes.
_OFFICIAL = {
    "cls/predictions/bias": "cls/predictions/output_bias",
    "cls/seq_relationship/weight": "cls/seq_relationship/output_weights",
    "cls/seq_relationship/bias": "cls/seq_relationship/output_bias",
}


@pytest.fixture
def golden(project):
    return dict(np.load(project / "tests" / "golden" / "bert.npz"))


@pytest.fixture
def tensors(golden):
    parts = ((name.partition("/"), tensor) for name, tensor in golden.items())
    return {name: tensor for (kind, _, name), tensor in parts if kind == "tensor"}


@pytest.fixture
def directory(golden, tensors, tmp_path):
    """Writes a Hugging Face directory; keyword arguments change its config.json."""

    def write(tensors=tensors, **changes):
        entries = {**json.loads(str(golden["config"])), **changes}
        (tmp_path / "config.json").write_text(json.dumps(entries))
        safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
        return tmp_path

    return write


def _official(tensors):
    found = {}
    for name, tensor in tensors.items():
        if name.startswith("cls.predictions.decoder"):
            continue
        official = name.replace("layer.", "layer_").replace(".", "/")
        if "LayerNorm" in official:
            official = official.replace("weight", "gamma").replace("bias", "beta")
        official = _OFFICIAL.get(official, official)
        if official.endswith("_embeddings/weight"):
            official = official.removesuffix("/weight")
        elif official.endswith("/weight"):
            official, tensor = f"{official.removesuffix('weight')}kernel", tensor.T
        found[official] = tensor
    return found


def _check(model, golden, activation, names):
    outputs = model({name: golden[name] for name in _INPUTS})
    seen = golden["attention_mask"].astype(bool)
    for name in names:
        expected, found = golden[f"{activation}/{name}"], outputs[name]
        if expected.ndim == 3:
            expected, found = expected[seen], np.asarray(found)[seen]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new"])
def test_all_of_pretraining(directory, golden, activation):
    path = directory(hidden_act=activation)
    model = albert_tf.AlbertForPreTraining.from_pretrained(path)
    config = model.config
    assert (config.parameter_sharing, config.embedding_size) == ("none", 16)
    assert config.hidden_dropout_prob == 0.1
    names = ("sequence_output", "pooled_output", "sentence_order_logits")
    _check(model, golden, activation, names)
    places = np.tile(np.arange(9), (2, 1))
    features = {name: golden[name] for name in _INPUTS}
    found = model({**features, "masked_lm_positions": places})["masked_lm_logits"]
    seen = golden["attention_mask"].astype(bool)
    expected = golden[f"{activation}/masked_lm_logits"]
    np.testing.assert_allclose(np.asarray(found)[seen], expected[seen], atol=1e-5)


def test_the_encoder_alone(directory, tensors, golden):
    bare = {
        name.removeprefix("bert.").replace("Norm.weight", "Norm.gamma"): tensor
        for name, tensor in tensors.items()
        if name.startswith("bert.")
    }
    path = directory(bare, architectures=["BertModel"])
    model = albert_tf.AlbertModel.from_pretrained(path)
    _check(model, golden, "gelu", ("sequence_output", "pooled_output"))


def test_googles_checkpoint(golden, tensors, tmp_path):
    official = _official(tensors)
    official["global_step"] = np.int64(7)
    write_tf1(tmp_path / "bert_model.ckpt", official)
    entries = json.loads(str(golden["config"]))
    known = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    known += ("intermediate_size", "max_position_embeddings", "hidden_act")
    config = {key: entries[key] for key in known} | {"pooler_type": "first_token"}
    (tmp_path / "bert_config.json").write_text(json.dumps(config))
    model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path)
    assert model.config.hidden_act == "gelu"  # theirs is computed by tanh
    _check(model, golden, "gelu_new", ("sequence_output", "sentence_order_logits"))


def test_a_classifier_keeps_its_head(directory, tensors):
    head = {
        "classifier.weight": np.arange(48, dtype="float32").reshape(3, 16),
        "classifier.bias": np.ones(3, "float32"),
    }
    encoder = {n: t for n, t in tensors.items() if n.startswith("bert.")}
    path = directory(
        {**encoder, **head},
        architectures=["BertForSequenceClassification"],
        id2label={"0": "no", "1": "yes", "2": "so"},
        classifier_dropout=0.25,
    )
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(path)
    assert model.labels == ("no", "yes", "so")
    assert model.classifier_dropout_prob == 0.25
    weights = model.classifier.output_weights
    np.testing.assert_array_equal(weights, head["classifier.weight"])


def test_what_is_no_bert_of_ours(directory):
    for changes, message in (
        ({"position_embedding_type": "relative_key"}, "sets position_embedding_type"),
        ({"model_type": "t5"}, "to 't5', expected 'albert' or 'xlnet' or 'bert'"),
    ):
        with pytest.raises(UserError, match=message):
            albert_tf.AlbertModel.from_pretrained(directory(**changes))
