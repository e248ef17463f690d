"""BERT and its relatives give the same numbers here as in Hugging Face's library.

`golden/bert.npz` holds a tiny `BertForPreTraining` of transformers 5.23 with random
weights, biases and norms, and its outputs, with the exact GELU and with that by tanh.
"""

import json
import re

import numpy as np
import pytest
import tensorflow as tf
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.families.bert import BERT
from albert_tf.families.bert import bert_config
from albert_tf.families.deberta import DEBERTA
from albert_tf.families.distilbert import DISTILBERT
from albert_tf.families.electra import ELECTRA
from albert_tf.layers.embeddings import positions_after_padding
from albert_tf.models.base import seeded
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.row_layout import TWO_SEPARATORS
from tests.checkpoints.conftest import write_tf1
from tests.models.block_reference import ACTIVATIONS

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
    begin = "tensor/"
    return {n.removeprefix(begin): t for n, t in golden.items() if n.startswith(begin)}


@pytest.fixture
def directory(golden, tensors, tmp_path):
    """Writes a Hugging Face directory; keyword arguments change its config.json."""

    def write(tensors=tensors, **changes):
        entries = {**json.loads(str(golden["config"])), **changes}
        (tmp_path / "config.json").write_text(json.dumps(entries))
        safetensors.save_file(tensors, tmp_path / "model.safetensors")
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


def _check(model, golden, activation, names, **features):
    outputs = model({**{name: golden[name] for name in _INPUTS}, **features})
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
    names = ("sequence_output", "pooled_output")
    names += ("sentence_order_logits", "masked_lm_logits")
    places = np.tile(np.arange(9), (2, 1))
    _check(model, golden, activation, names, masked_lm_positions=places)


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
    base = bert_config({"vocab_size": 9}, "bert_config.json").to_dict()
    assert [base[key] for key in known[1:5]] == [768, 12, 12, 3072]


def test_what_is_no_bert_of_ours(directory):
    for changes, message in (
        ({"position_embedding_type": "relative_key"}, "sets position_embedding_type"),
        ({"model_type": "t5"}, "to 't5', expected 'albert' or 'xlnet' or 'bert'"),
    ):
        with pytest.raises(UserError, match=message):
            albert_tf.AlbertModel.from_pretrained(directory(**changes))


IDS = np.array([[2, 9, 17, 5, 3], [2, 11, 3, 8, 3]])
PADDED_IDS = np.array([[0, 5, 6, 2, 1, 1], [1, 0, 7, 8, 9, 2]])
_OF_ROBERTA = {"type_vocab_size": 1, "padding_idx": 1, "embedding_size": 12}
_OF_DISTILBERT = {"type_vocab_size": 0, "pooler_act": "relu", "embedding_size": 12}
_OF_ELECTRA = {"pooler_act": "gelu_erf", "embedding_size": 8, "hidden_act": "relu"}
_OF_DEBERTA = {
    "position_embedding_type": "disentangled",
    "type_vocab_size": 0,
    "pooler_act": "gelu_erf",
    "embedding_size": 12,
    "hidden_act": "relu",
}


@pytest.fixture
def make(tiny_config):
    """Makes a random model with the fields of a family."""

    def made(model_class, fields, **arguments):
        sizes = {
            "vocab_size": 20,
            "parameter_sharing": "none",
            "initializer_range": 0.3,
        }
        with seeded(4):
            return model_class(tiny_config(**{**sizes, **fields}), **arguments)

    return made


def test_what_padding_idx_decides(tiny_config):
    found = positions_after_padding(tf.constant(PADDED_IDS), 1)
    assert found.numpy().tolist() == [[2, 3, 4, 5, 1, 1], [1, 2, 3, 4, 5, 6]]
    fields = {"type_vocab_size": 1, "parameter_sharing": "none"}
    roberta, plain = (tiny_config(**fields, padding_idx=idx) for idx in (1, None))
    assert (roberta.position_rows, plain.position_rows) == (18, 16)
    assert roberta.row_layout == TWO_SEPARATORS != plain.row_layout
    assert (roberta.hidden_act, roberta.head_act) == ("gelu", "gelu_erf")


def test_padding_learns_nothing(make):
    model = make(albert_tf.AlbertModel, _OF_ROBERTA)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model({"input_ids": PADDED_IDS})["sequence_output"] ** 3)
    tables = (model.embeddings.word_embeddings, model.embeddings.position_embeddings)
    for gradient in tape.gradient(total, [table.value for table in tables]):
        rows = np.abs(tf.convert_to_tensor(gradient)).sum(axis=1)
        assert rows[1] == 0 and rows[2] > 0


def test_shared_layers_are_written_one_by_one(make, tmp_path):
    shared = {**_OF_ROBERTA, "parameter_sharing": "all"}
    model = make(albert_tf.AlbertForMaskedLM, shared)
    model.save_pretrained(tmp_path, format="huggingface")
    again = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path)
    assert again.config.parameter_sharing == "none"
    np.testing.assert_allclose(again(PADDED_IDS), model(PADDED_IDS), rtol=0, atol=1e-6)


def _written(model, folder):
    """The entries and tensors of a Hugging Face directory that holds the model."""
    model.save_pretrained(folder, format="huggingface")
    again = type(model).from_pretrained(folder)
    assert again.config == model.config
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)
    entries = json.loads((folder / "config.json").read_text())
    return entries, safetensors.load_file(folder / "model.safetensors")


def _transformed(model, tensors, scope, activation):
    """What a head's dense layer makes of the encoder's states."""
    hidden = np.asarray(model.albert(IDS)["sequence_output"])
    hidden = hidden @ tensors[f"{scope}.dense.weight"].T
    return ACTIVATIONS[activation](hidden + tensors[f"{scope}.dense.bias"])


def test_a_discriminator_there_and_back(make, tmp_path):
    model = make(albert_tf.AlbertForReplacedTokens, _OF_ELECTRA)
    entries, tensors = _written(model, tmp_path)
    assert type(bundle.open(tmp_path).model()) is albert_tf.AlbertForReplacedTokens
    assert entries["architectures"] == ["ElectraForPreTraining"]
    assert (entries["embedding_size"], entries["hidden_act"]) == (8, "relu")
    scope = "discriminator_predictions"
    # The blocks' activation: "gelu", which ELECTRA fixes, is of the other heads.
    hidden = _transformed(model, tensors, scope, "relu")
    logits = hidden @ tensors[f"{scope}.dense_prediction.weight"][0]
    logits = logits + tensors[f"{scope}.dense_prediction.bias"]
    np.testing.assert_allclose(model(IDS), logits, rtol=0, atol=1e-5)


def test_a_generator_fills_masks_with_gelu_whatever_its_blocks_have(make, tmp_path):
    model = make(albert_tf.AlbertForMaskedLM, _OF_ELECTRA)
    _, tensors = _written(model, tmp_path)
    hidden = _transformed(model, tensors, "generator_predictions", "gelu_erf")
    hidden = model.masked_lm_head.layer_norm(hidden)
    table = tensors["electra.embeddings.word_embeddings.weight"]
    logits = hidden @ table.T + tensors["generator_lm_head.bias"]
    np.testing.assert_allclose(model(IDS), logits, rtol=0, atol=1e-5)
    assert not any("pooler" in name or "classifier" in name for name in tensors)


def test_pretraining_starts_from_a_discriminator(make, tmp_path):
    model = make(albert_tf.AlbertForReplacedTokens, _OF_ELECTRA)
    model.save_pretrained(tmp_path, format="huggingface")
    whole = albert_tf.AlbertForReplacedTokens.from_pretrained(
        tmp_path, allow_missing="generator", generator={"hidden_size": 6}
    )
    np.testing.assert_allclose(whole(IDS), model(IDS), rtol=0, atol=1e-6)
    with pytest.raises(UserError, match="no ELECTRA model with generator/"):
        whole.save_pretrained(tmp_path / "whole", format="huggingface")


@pytest.mark.parametrize("fields", [_OF_DISTILBERT, _OF_ELECTRA])
def test_a_missing_pooler_is_new_for_a_classifier_only(fields, make, tmp_path):
    make(albert_tf.AlbertModel, fields).save_pretrained(tmp_path, format="huggingface")
    load = albert_tf.AlbertForSequenceClassification.from_pretrained
    missing = load(tmp_path, num_labels=2).load_report.missing
    assert {"bert/pooler/dense/kernel", "output_bias"} < {*missing}
    AlbertForTextEmbedding.from_pretrained(tmp_path)
    with pytest.raises(UserError, match="lacks bert/pooler/dense/kernel"):
        AlbertForTextEmbedding.from_pretrained(tmp_path, pooling="pooler")


def test_distilbert_has_no_segments(make, tmp_path):
    model = make(
        albert_tf.AlbertForSequenceClassification, _OF_DISTILBERT, num_labels=2
    )
    entries, _ = _written(model, tmp_path)
    segments = {"input_ids": IDS, "segment_ids": np.ones_like(IDS)}
    np.testing.assert_allclose(model(segments), model(IDS), rtol=0, atol=1e-6)
    assert (entries["dim"], entries["activation"]) == (12, "gelu_new")
    for form in ("tf1", "huggingface"):
        other = make(albert_tf.AlbertModel, {**_OF_DISTILBERT, "pooler_act": "tanh"})
        with pytest.raises(UserError, match="type_vocab_size=0"):
            other.save_pretrained(tmp_path / form, format=form)


def test_dropout_of_classifiers():
    own, ours = {"classifier_dropout": 0.25}, {"classifier_dropout_prob": 0.3}
    for family, entries, expected in (
        (DISTILBERT, {"seq_classif_dropout": 0.25, **ours}, 0.25),
        (DISTILBERT, ours, 0.3),
        (DISTILBERT, {}, 0.2),
        (ELECTRA, {"classifier_dropout": None, "hidden_dropout_prob": 0.25}, 0.25),
        (DEBERTA, {"cls_dropout": 0.4, **ours}, 0.4),
        (DEBERTA, {"cls_dropout": 0.4, **own}, 0.25),
        (BERT, {**own, **ours, "hidden_dropout_prob": 0.2}, 0.25),
        (BERT, {**ours, "hidden_dropout_prob": 0.2}, 0.3),
        (BERT, {}, 0.1),
    ):
        found = family.entries_from_huggingface(entries)
        assert found["classifier_dropout_prob"] == expected, (family, entries)


def test_xlm_roberta_keeps_its_name_and_decoders_may_be_untied(make, tmp_path):
    untied = {"tie_word_embeddings": False}
    for name, changes in {
        "distilbert": {**_OF_DISTILBERT, **untied},
        "electra": {**_OF_ELECTRA, **untied},
        "xlm-roberta": {**_OF_ROBERTA, "is_xlm": True},
        "roberta": _OF_ROBERTA,
    }.items():
        model = make(albert_tf.AlbertForMaskedLM, changes)
        entries, _ = _written(model, tmp_path / name)
        assert entries["model_type"] == name


def test_deberta_with_the_new_head_of_the_language_model(make, tmp_path):
    model = make(albert_tf.AlbertForMaskedLM, _OF_DEBERTA)
    _, old = _written(model, tmp_path)
    new = {
        re.sub(r"cls\.predictions\.(transform\.)?", "lm_predictions.lm_head.", n): t
        for n, t in old.items()
    }
    assert "lm_predictions.lm_head.dense.weight" in new
    (tmp_path / "SHA256SUMS").unlink()
    safetensors.save_file(new, tmp_path / "model.safetensors", {"format": "pt"})
    again = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path)
    scope = "lm_predictions.lm_head"
    # The activation is that of the blocks, and not the pooler's.
    hidden = _transformed(model, new, scope, "relu")
    hidden = model.masked_lm_head.layer_norm(hidden)
    table = new["deberta.embeddings.word_embeddings.weight"]
    logits = hidden @ table.T + new[f"{scope}.bias"]
    np.testing.assert_allclose(again(IDS), logits, rtol=0, atol=1e-5)
