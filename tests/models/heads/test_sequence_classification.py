"""The classifier as an ordinary Keras model: fit, distribute, save."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.sequence_classification import AlbertForSequenceClassification


def dataset():
    """16 texts of 6 tokens whose label is whether their second token is 7."""
    random = np.random.default_rng(0)
    ids = random.integers(8, 37, (16, 6), dtype="int32")
    labels = np.tile([0, 1], 8)
    ids[:, 1] = 5 + 2 * labels
    features = {"input_ids": ids, "input_mask": np.ones_like(ids)}
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(8)


def compiled_model(config):
    keras.utils.set_random_seed(1)
    model = AlbertForSequenceClassification(config, num_labels=2)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


@pytest.mark.slow
def test_fit_learns_and_the_file_keeps_it(tiny_config, tmp_path):
    config = tiny_config(num_hidden_layers=2, hidden_dropout_prob=0.1)
    model = compiled_model(config)
    history = model.fit(dataset(), epochs=12, verbose=0, shuffle=False).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    before = model.evaluate(dataset(), verbose=0)
    model.save(tmp_path / "classifier.keras")
    loaded = keras.models.load_model(tmp_path / "classifier.keras")
    np.testing.assert_allclose(loaded.evaluate(dataset(), verbose=0), before, rtol=1e-6)
    assert loaded.num_labels == 2


@pytest.mark.slow
def test_fit_on_two_devices(tiny_config, two_replicas):
    with two_replicas.scope():
        model = compiled_model(tiny_config(num_hidden_layers=2))
    history = model.fit(dataset(), epochs=8, verbose=0, shuffle=False).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]


def test_logits_are_a_plain_float32_tensor(tiny_config, tiny_features):
    model = AlbertForSequenceClassification(tiny_config(), num_labels=5)
    logits = model(tiny_features)
    assert logits.shape == (2, 5)
    assert logits.dtype == tf.float32


def test_head_initialiser_ignores_the_config(tiny_config):
    config = tiny_config(hidden_size=192, initializer_range=0.3)
    model = AlbertForSequenceClassification(config, num_labels=9)
    weights = model.classifier.output_weights.numpy()
    assert 0.015 < weights.std() < 0.02  # truncated at two deviations
    assert np.abs(weights).max() <= 0.04
    kernel = model.albert.pooler.kernel.numpy()
    assert 0.24 < kernel.std() < 0.28


def test_labels_must_be_positive(tiny_config):
    with pytest.raises(UserError, match="num_labels must be at least 1, got 0"):
        AlbertForSequenceClassification(tiny_config(), num_labels=0)
