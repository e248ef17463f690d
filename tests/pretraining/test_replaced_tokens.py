"""Replaced-token detection: what is drawn, what counts, and what learns from it."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.pretraining.replaced_tokens import ReplacedTokensObjective
from albert_tf.pretraining.replaced_tokens import drawn
from albert_tf.pretraining.replaced_tokens import with_tokens

SEED = tf.constant([3, 4])


@pytest.fixture
def batch():
    return {
        "input_ids": tf.constant([[2, 4, 7, 4, 3], [2, 8, 4, 3, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
        "segment_ids": tf.zeros([2, 5], tf.int32),
        "masked_lm_positions": tf.constant([[1, 3], [2, 0]]),
        "masked_lm_ids": tf.constant([[5, 6], [9, 0]]),
        "masked_lm_weights": tf.constant([[1.0, 1.0], [1.0, 0.0]]),
    }


@pytest.fixture
def model(tiny_config):
    return AlbertForReplacedTokens(tiny_config(), generator={"num_hidden_layers": 1})


def test_tokens_take_their_places(batch):
    found = with_tokens(batch, batch["masked_lm_ids"])
    assert found.numpy().tolist() == [[2, 5, 7, 6, 3], [2, 8, 9, 3, 0]]


def test_tokens_are_drawn_by_their_probabilities():
    logits = tf.math.log(tf.tile([[[0.1, 0.6, 0.3]]], [4, 5000, 1]))
    found = drawn(logits, SEED).numpy()
    shares = np.bincount(found.ravel()) / found.size
    np.testing.assert_allclose(shares, [0.1, 0.6, 0.3], atol=0.01)
    np.testing.assert_array_equal(drawn(logits, SEED), found)
    assert (drawn(logits, SEED + 1).numpy() != found).any()
    assert (drawn(logits / 1e-6, SEED).numpy() == 1).all()


def test_the_loss_is_that_of_its_parts(model, batch):
    objective = ReplacedTokensObjective(2.0, 10.0)
    outputs = objective.outputs(model, batch, training=False, dropout_seed=None)
    losses, metrics = objective(model, batch, training=False, dropout_seed=None)
    logits = outputs["replaced_logits"].numpy()
    labels = outputs["is_replaced"].numpy()
    real = batch["input_mask"].numpy()
    sigmoid = 1 / (1 + np.exp(-logits))
    entropy = -np.where(labels > 0, np.log(sigmoid), np.log(1 - sigmoid))
    np.testing.assert_allclose(
        losses["replaced_tokens"], (entropy * real).sum(), rtol=1e-5
    )
    right = ((logits > 0) == (labels > 0)) * real
    assert metrics["replaced_tokens_accuracy"] == (right.sum(), 9)
    found = metrics["replaced_tokens_recall"]
    assert [float(value) for value in found] == [(right * labels).sum(), labels.sum()]
    assert objective.denominators(batch)["replaced_tokens"] == 9
    assert objective.denominators(batch)["masked_lm"] == 3
    assert objective.scales == {"masked_lm": 2.0, "replaced_tokens": 10.0}


def test_only_drawn_tokens_can_be_replaced(model, batch):
    objective = ReplacedTokensObjective()
    for seed in (None, SEED):
        outputs = objective.outputs(model, batch, False, seed)
        labels = outputs["is_replaced"].numpy()
        masked = [[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]]
        assert (labels <= masked).all()
        assert labels.sum() >= 1


def test_a_right_guess_is_not_replaced(model, batch):
    # One token is certain, and is that of the text in one of its three places.
    bias = np.full(model.config.vocab_size, -1e4, np.float32)
    bias[5] = 0.0
    model.generator_head.output_bias.assign(bias)
    outputs = ReplacedTokensObjective().outputs(model, batch, False, SEED)
    expected = [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert outputs["is_replaced"].numpy().tolist() == expected


def test_the_discriminator_does_not_teach_the_generator(model, batch):
    objective = ReplacedTokensObjective()
    with tf.GradientTape(persistent=True) as tape:
        losses, _ = objective(model, batch, training=True, dropout_seed=SEED)
    generator = model.generator.transformer.trainable_variables[0].value
    discriminator = model.albert.transformer.trainable_variables[0].value
    words = model.albert.embeddings.word_embeddings.value
    found = losses["replaced_tokens"]
    assert tape.gradient(found, generator) is None
    assert tape.gradient(found, discriminator) is not None
    assert tape.gradient(losses["masked_lm"], discriminator) is None
    for loss in losses.values():  # the shared table learns from both
        assert tape.gradient(loss, words) is not None
