"""Tiny pretrained models with their vocabularies: an ALBERT and an XLNet."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece


@pytest.fixture(scope="session")
def model_dir(tiny_config, tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    pieces = ["the", "film", "is", "good", "bad", "and", "long", "."]
    tokenizer = WordPieceTokenizer(wordpiece(pieces).encode(), True)
    # The model has more rows than the vocabulary, as released ones do.
    sizes = {"vocab_size": tokenizer.vocab_size + 3, "num_hidden_layers": 2}
    sizes["hidden_dropout_prob"] = 0.1  # which answers know nothing of
    model = albert_tf.AlbertForPreTraining(tiny_config(**sizes))
    model.save_pretrained(directory, tokenizer)
    return directory


@pytest.fixture(scope="session")
def xlnet_dir(xlnet_tokenizer, xlnet_config, tmp_path_factory):
    """As pretraining leaves it: with a memory, and rows of reversed text."""
    keras.utils.set_random_seed(1)
    config = xlnet_config(initializer_range=0.5, mem_len=6, reuse_len=4, bi_data=True)
    directory = tmp_path_factory.mktemp("xlnet")
    albert_tf.XLNetLMHeadModel(config).save_pretrained(directory, xlnet_tokenizer)
    return directory


ALONE = {"mem_len": 0, "reuse_len": 0, "bi_data": False}
"""How an XLNet reads a text by itself."""


def shares_by_permutation(model, row, places):
    """Probabilities `[places, vocabulary]` of tokens of a row that no token sees."""
    tokens = row["input_ids"].shape[1]
    hidden = np.zeros((1, tokens, tokens), "float32")
    hidden[:, :, places] = 1
    asked = {"perm_mask": hidden, "target_positions": np.array([places], "int32")}
    return tf.nn.softmax(model({**row, **asked})["logits"][0]).numpy()


@pytest.fixture(scope="session", params=["albert", "xlnet"])
def pretrained(request):
    """The folder of one of both, its encoder, and its tokenizer."""
    if request.param == "albert":
        folder = request.getfixturevalue("model_dir")
        encoder = albert_tf.AlbertModel.from_pretrained(folder)
    else:
        folder = request.getfixturevalue("xlnet_dir")
        encoder = albert_tf.XLNetModel.from_pretrained(folder, **ALONE)
    tokenizer = albert_tf.load_tokenizer(folder)
    return types.SimpleNamespace(folder=folder, encoder=encoder, tokenizer=tokenizer)
