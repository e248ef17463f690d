"""XLNet as any Keras model: shown, fitted, and saved in a file of Keras."""

import keras
import numpy as np
import pytest

from albert_tf.xlnet.heads import XLNetForSequenceClassification


def test_shown_and_saved(xlnet_config, xlnet_features, tmp_path):
    config = xlnet_config(n_layer=1)
    model = XLNetForSequenceClassification(config, labels=["no", "so", "yes"])
    lines = []
    model.summary(print_fn=lines.append)
    assert f"{model.count_params():,}" in "\n".join(lines)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.config == config and loaded.labels == ("no", "so", "yes")
    names = ("input_ids", "input_mask", "segment_ids")
    features = {name: xlnet_features[name] for name in names}
    np.testing.assert_array_equal(loaded(features), model(features))


@pytest.mark.nightly
def test_fitted(xlnet_config, xlnet_features):
    config = xlnet_config(n_layer=1, dropout=0.0, dropatt=0.0)
    model = XLNetForSequenceClassification(config, num_labels=3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, jit_compile=False)
    names = ("input_ids", "input_mask", "segment_ids")
    features = {name: xlnet_features[name] for name in names}
    history = model.fit(features, np.array([2, 0]), epochs=5, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
