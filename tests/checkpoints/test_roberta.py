"""RoBERTa: positions after padding, names, and directories there and back."""

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.families.bert import ROBERTA
from albert_tf.layers.embeddings import positions_after_padding
from albert_tf.row_layout import TWO_SEPARATORS

CONFIG = albert_tf.AlbertConfig(
    vocab_size=30,
    embedding_size=8,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=10,
    type_vocab_size=1,
    hidden_act="gelu_erf",
    parameter_sharing="none",
    layer_norm_eps=1e-5,
    padding_idx=1,
)
IDS = np.array([[0, 5, 6, 2, 1, 1], [1, 0, 7, 8, 9, 2]])


def test_positions():
    found = positions_after_padding(tf.constant(IDS), 1)
    assert found.numpy().tolist() == [[2, 3, 4, 5, 1, 1], [1, 2, 3, 4, 5, 6]]


def test_what_padding_idx_decides():
    plain = albert_tf.AlbertConfig.from_dict({**CONFIG.to_dict(), "padding_idx": None})
    assert (CONFIG.position_rows, plain.position_rows) == (12, 10)
    assert CONFIG.row_layout == TWO_SEPARATORS != plain.row_layout
    tanh = albert_tf.AlbertConfig.from_dict({**CONFIG.to_dict(), "hidden_act": "gelu"})
    assert tanh.head_act == "gelu_erf"


def test_packed_texts_have_positions_of_their_own():
    model = albert_tf.AlbertModel(CONFIG)
    alone = model({"input_ids": IDS[:1, :4]})["sequence_output"]
    pair = np.concatenate([IDS[:1, :4], IDS[:1, :4]], axis=1)
    pairs = np.array([[0, 0, 0, 0, 1, 1, 1, 1]])
    packed = model({"input_ids": pair, "pair_ids": pairs})
    found = packed["sequence_output"]
    np.testing.assert_allclose(found[:, 4:], alone, rtol=0, atol=1e-6)


def test_padding_learns_nothing():
    model = albert_tf.AlbertModel(CONFIG)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model({"input_ids": IDS})["sequence_output"] ** 3)
    tables = (model.embeddings.word_embeddings, model.embeddings.position_embeddings)
    for gradient in tape.gradient(total, [table.value for table in tables]):
        rows = np.abs(tf.convert_to_tensor(gradient)).sum(axis=1)
        assert rows[1] == 0 and rows[2] > 0


def test_shared_layers_are_written_one_by_one(tmp_path):
    values = {**CONFIG.to_dict(), "parameter_sharing": "all"}
    model = albert_tf.AlbertForMaskedLM(albert_tf.AlbertConfig.from_dict(values))
    model.save_pretrained(tmp_path, format="huggingface")
    again = albert_tf.AlbertForMaskedLM.from_pretrained(tmp_path)
    assert again.config.parameter_sharing == "none"
    np.testing.assert_allclose(again(IDS), model(IDS), rtol=0, atol=1e-6)


def test_config_json_of_theirs():
    entries = {"vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2}
    config = ROBERTA.config_from_huggingface(entries, "config.json")
    assert (config.padding_idx, config.layer_norm_eps) == (1, 1e-12)
    assert (config.max_position_embeddings, config.type_vocab_size) == (512, 1)
    few = {**entries, "max_position_embeddings": 2}
    with pytest.raises(UserError, match="max_position_embeddings to 2 and pad_token"):
        ROBERTA.config_from_huggingface(few, "config.json")
