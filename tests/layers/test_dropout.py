"""Stateless dropout: its sites are independent, its rate is right."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers.dropout import CLASSIFIER_SITE
from albert_tf.layers.dropout import EMBEDDING_SITE
from albert_tf.layers.dropout import SITES_PER_BLOCK
from albert_tf.layers.dropout import dropout
from albert_tf.layers.dropout import fold_seed
from albert_tf.models.sequence_classification import AlbertForSequenceClassification


def test_rate_and_scale():
    ones = tf.ones((200, 200))
    dropped = dropout(ones, 0.25, tf.constant([1, 2]), 0).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((dropped == 0).mean() - 0.25) < 0.01


def test_seed_none_and_rate_zero_are_the_identity():
    ones = tf.ones((3, 3))
    assert dropout(ones, 0.5, None, 0) is ones
    assert dropout(ones, 0.0, tf.constant([1, 2]), 0) is ones


def test_no_two_sites_of_nearby_seeds_coincide():
    sites = [EMBEDDING_SITE, CLASSIFIER_SITE, *range(24 * SITES_PER_BLOCK)]
    seeds = np.array(list(itertools.product(range(5), range(20))))
    folded = [fold_seed(tf.constant(seeds), site).numpy() for site in sites]
    assert len(np.unique(np.concatenate(folded), axis=0)) == len(seeds) * len(sites)


def test_folding_adds_up():
    seed = tf.constant([7, 9])
    np.testing.assert_array_equal(fold_seed(fold_seed(seed, 8), 2), fold_seed(seed, 10))


@pytest.mark.parametrize("depth_loop", [False, True])
def test_no_two_dropouts_of_a_model_have_the_same_mask(
    tiny_config, tiny_features, monkeypatch, depth_loop
):
    """Layers that share all weights, and the three sites of each, draw their own."""
    masks = []
    draw = keras.random.dropout

    def recorded(inputs, rate, seed):
        masks.append(tuple(draw(tf.ones(64), 0.5, seed=seed).numpy().tolist()))
        return inputs

    monkeypatch.setattr(keras.random, "dropout", recorded)
    config = tiny_config(
        num_hidden_layers=3, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    )
    model = AlbertForSequenceClassification(config, 2, depth_loop=depth_loop)
    model(tiny_features, training=True, dropout_seed=tf.constant([1, 2]))
    sites = 2 + 3 * config.num_hidden_layers  # also of the embeddings and the head
    assert len(masks) == sites
    assert len(set(masks)) == sites
