"""Dropout: a pure function of `dropout_seed`, off outside training."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification

SEED = tf.constant([11, 5], tf.int32)


def sequence(model, features, **kwargs):
    return np.array(model(features, **kwargs)["sequence_output"])


@pytest.mark.parametrize(
    "field", ["hidden_dropout_prob", "attention_probs_dropout_prob"]
)
def test_each_rate_acts_by_the_seed_and_in_training_alone(
    field, tiny_config, tiny_features
):
    albert = AlbertModel(tiny_config(**{"num_hidden_layers": 1, field: 0.3}))
    first, again, other = (
        sequence(albert, tiny_features, training=True, dropout_seed=seed)
        for seed in (SEED, SEED, SEED + 1)
    )
    np.testing.assert_array_equal(first, again)
    plain = sequence(albert, tiny_features)
    np.testing.assert_array_equal(
        sequence(albert, tiny_features, dropout_seed=SEED), plain
    )
    one, two = (sequence(albert, tiny_features, training=True) for _ in range(2))
    for found, expected in ((first, other), (first, plain), (one, two)):
        assert np.abs(found - expected).max() > 0.1


@pytest.mark.parametrize(
    "model_class", [AlbertForSequenceClassification, AlbertForTokenClassification]
)
def test_classifier_dropout(model_class, tiny_config, tiny_features):
    del tiny_features["masked_lm_positions"]
    for rate, same in ((0.1, False), (0.0, True)):
        model = model_class(
            tiny_config(num_hidden_layers=1), num_labels=3, classifier_dropout_prob=rate
        )
        plain = model(tiny_features)
        dropped = model(tiny_features, training=True, dropout_seed=SEED)
        assert np.array_equal(plain, dropped) is same
