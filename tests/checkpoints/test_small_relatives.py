"""The differences of DistilBERT, ELECTRA, XLM-R and DeBERTa from BERT and RoBERTa."""

import json
import re

import keras
import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.families.albert_tf import ALBERT_TF
from albert_tf.families.deberta import DEBERTA
from albert_tf.families.distilbert import DISTILBERT
from albert_tf.families.electra import ELECTRA
from albert_tf.models.base import seeded
from albert_tf.models.text_embedding import AlbertForTextEmbedding

IDS = np.array([[2, 9, 17, 5, 3], [2, 11, 3, 8, 3]])
_OF_DISTILBERT = {"type_vocab_size": 0, "pooler_act": "relu", "embedding_size": 12}
_OF_ELECTRA = {"pooler_act": "gelu_erf", "embedding_size": 8, "hidden_act": "relu"}
_RELEASED = {
    "relative_attention": True,
    "share_att_key": True,
    "position_biased_input": False,
    "norm_rel_ebd": "layer_norm",
    "pos_att_type": "p2c|c2p",
}
_OF_DEBERTA = {"position_embedding_type": "disentangled", "type_vocab_size": 0}
_OF_DEBERTA |= {"pooler_act": "gelu_erf", "embedding_size": 12, "hidden_act": "relu"}


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


def _again(model, folder):
    model.save_pretrained(folder, format="huggingface")
    return type(model).from_pretrained(folder)


def test_a_discriminator_there_and_back(make, tmp_path):
    model = make(albert_tf.AlbertForReplacedTokens, _OF_ELECTRA)
    again = _again(model, tmp_path)
    assert type(bundle.open(tmp_path).model()) is albert_tf.AlbertForReplacedTokens
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["architectures"] == ["ElectraForPreTraining"]
    assert (entries["embedding_size"], entries["hidden_act"]) == (8, "relu")
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    hidden = np.asarray(model.albert(IDS)["sequence_output"])
    scope = "discriminator_predictions"
    hidden = hidden @ tensors[f"{scope}.dense.weight"].T
    # The blocks' activation: "gelu", which ELECTRA fixes, is of the other heads.
    hidden = np.maximum(hidden + tensors[f"{scope}.dense.bias"], 0)
    logits = hidden @ tensors[f"{scope}.dense_prediction.weight"][0]
    logits = logits + tensors[f"{scope}.dense_prediction.bias"]
    np.testing.assert_allclose(model(IDS), logits, rtol=0, atol=1e-5)


def test_a_generator_fills_masks_with_gelu_whatever_its_blocks_have(make, tmp_path):
    model = make(albert_tf.AlbertForMaskedLM, _OF_ELECTRA)
    again = _again(model, tmp_path)
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    hidden = np.asarray(model.albert(IDS)["sequence_output"])
    scope = "generator_predictions"
    hidden = hidden @ tensors[f"{scope}.dense.weight"].T
    hidden = keras.ops.gelu(hidden + tensors[f"{scope}.dense.bias"], approximate=False)
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
    again = _again(model, tmp_path)
    segments = {"input_ids": IDS, "segment_ids": np.ones_like(IDS)}
    np.testing.assert_allclose(again(segments), model(IDS), rtol=0, atol=1e-6)
    entries = json.loads((tmp_path / "config.json").read_text())
    assert (entries["dim"], entries["activation"]) == (12, "gelu_new")
    for form in ("tf1", "huggingface"):
        other = make(albert_tf.AlbertModel, {**_OF_DISTILBERT, "pooler_act": "tanh"})
        with pytest.raises(UserError, match="type_vocab_size=0"):
            other.save_pretrained(tmp_path / form, format=form)


def test_dropout_of_classifiers():
    entries = {"seq_classif_dropout": 0.3}
    found = DISTILBERT.entries_from_huggingface(entries)["classifier_dropout_prob"]
    assert found == 0.3
    entries = {"classifier_dropout": None, "hidden_dropout_prob": 0.25}
    found = ELECTRA.entries_from_huggingface(entries)["classifier_dropout_prob"]
    assert found == 0.25


@pytest.mark.parametrize("fields", [_OF_DISTILBERT, _OF_ELECTRA])
def test_their_decoders_may_be_untied(fields, make, tmp_path):
    model = make(albert_tf.AlbertForMaskedLM, {**fields, "tie_word_embeddings": False})
    again = _again(model, tmp_path)
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)
    assert not again.config.tie_word_embeddings


def test_xlm_roberta_keeps_its_name(make, tmp_path):
    fields = {"embedding_size": 12, "type_vocab_size": 1, "padding_idx": 1}
    for is_xlm, name in ((True, "xlm-roberta"), (False, "roberta")):
        model = make(albert_tf.AlbertForMaskedLM, {**fields, "is_xlm": is_xlm})
        again = _again(model, tmp_path / name)
        assert again.config == model.config
        entries = json.loads((tmp_path / name / "config.json").read_text())
        assert entries["model_type"] == name


@pytest.mark.parametrize(
    ("family", "entries", "message"),
    [
        (ALBERT_TF, {**_OF_DEBERTA}, "'disentangled', expected 'learned' or 'rotary'"),
        (ELECTRA, {"position_embedding_type": "relative_key"}, "expected 'absolute'"),
        (
            ELECTRA,
            {"architectures": ["ElectraForMultipleChoice"], "summary_type": "mean"},
            "sets summary_type to 'mean', expected 'first'",
        ),
        (DEBERTA, {}, "sets relative_attention to False, expected True"),
        (DEBERTA, {**_RELEASED, "pos_att_type": "c2p"}, r"pos_att_type to \['c2p'\]"),
        (
            DEBERTA,
            {**_RELEASED, "max_relative_positions": 7},
            "expected -1 or 0 or 512",
        ),
        (DEBERTA, {**_RELEASED, "position_buckets": 1}, "position_buckets must be"),
    ],
)
def test_other_settings_are_refused(family, entries, message):
    with pytest.raises(UserError, match=message):
        family.config_from_huggingface(entries, "config.json")


def test_deberta_with_the_new_head_of_the_language_model(make, tmp_path):
    model = make(albert_tf.AlbertForMaskedLM, _OF_DEBERTA)
    again = _again(model, tmp_path)
    assert again.config == model.config
    path = tmp_path / "model.safetensors"
    old = safetensors.load_file(path)
    new = {
        re.sub(r"cls\.predictions\.(transform\.)?", "lm_predictions.lm_head.", n): t
        for n, t in old.items()
    }
    assert "lm_predictions.lm_head.dense.weight" in new
    (tmp_path / "SHA256SUMS").unlink()
    safetensors.save_file(new, path, {"format": "pt"})
    again = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path)
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)
    hidden = np.asarray(model.albert(IDS)["sequence_output"])
    scope = "lm_predictions.lm_head"
    # The activation is that of the blocks, and not the pooler's.
    hidden = hidden @ new[f"{scope}.dense.weight"].T + new[f"{scope}.dense.bias"]
    hidden = model.masked_lm_head.layer_norm(np.maximum(hidden, 0))
    table = new["deberta.embeddings.word_embeddings.weight"]
    logits = hidden @ table.T + new[f"{scope}.bias"]
    np.testing.assert_allclose(again(IDS), logits, rtol=0, atol=1e-5)
