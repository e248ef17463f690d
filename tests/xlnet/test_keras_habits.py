"""XLNet as any Keras model: shown, fitted, saved."""

import keras
import numpy as np
import pytest

from albert_tf.xlnet.heads import XLNetForSequenceClassification


@pytest.mark.slow
def test_shown_fitted_and_saved(xlnet_config, xlnet_features, tmp_path):
    config = xlnet_config(n_layer=1, dropout=0.0, dropatt=0.0)
    model = XLNetForSequenceClassification(config, labels=["no", "so", "yes"])
    model.classifier_dropout_prob = 0.0
    lines = []
    model.summary(print_fn=lines.append)
    assert f"{model.count_params():,}" in "\n".join(lines)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, jit_compile=False)
    names = ("input_ids", "input_mask", "segment_ids")
    features = {name: xlnet_features[name] for name in names}
    history = model.fit(features, np.array([2, 0]), epochs=5, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.config == config and loaded.labels == ("no", "so", "yes")
    np.testing.assert_array_equal(loaded(features), model(features))
