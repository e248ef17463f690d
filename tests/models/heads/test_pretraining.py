"""The pretraining model against the official code, and its masked LM alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.mark.slow
def test_a_masked_lm_has_the_same_logits(tiny_config, tiny_features, tmp_path):
    keras.utils.set_random_seed(1)  # some weights magnify rounding
    pretrained = AlbertForPreTraining(tiny_config())
    pretrained.save_pretrained(tmp_path)
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    expected = pretrained(tiny_features)["masked_lm_logits"]
    np.testing.assert_allclose(model(tiny_features), expected, atol=1e-6)
    positions = tiny_features.pop("masked_lm_positions")
    everywhere = tf.gather(model(tiny_features), positions, batch_dims=1)
    np.testing.assert_allclose(everywhere, expected, atol=1e-6)
    # The best of the first 30 pieces.
    shares = tf.nn.softmax(everywhere[..., :30]).numpy()
    tiny_features["masked_lm_positions"] = positions
    for own in (model, pretrained):
        probabilities, ids = own.best_tokens(tiny_features, 3, vocab_size=30)
        np.testing.assert_array_equal(ids, np.argsort(-shares, -1)[..., :3])
        best = np.sort(shares, -1)[..., ::-1][..., :3]
        np.testing.assert_allclose(probabilities, best, atol=1e-6)
