"""One vector for a text."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.text_embedding import text_vectors

_STATES = np.random.default_rng(0).normal(size=(3, 2, 4, 5)).astype("float32")
_ENCODED = {
    "hidden_states": list(_STATES),
    "sequence_output": _STATES[2],
    "pooled_output": np.arange(10, dtype="float32").reshape(2, 5),
}
_MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])


def test_mean_leaves_padding_out():
    found = text_vectors(_ENCODED, _MASK, "mean")
    expected = [_STATES[2, 0].mean(0), _STATES[2, 1, :2].mean(0)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_layers_and_poolings():
    for layer, index in ((1, 0), (3, 2), (-1, 2), (-3, 0)):
        found = text_vectors(_ENCODED, _MASK, "cls", layer)
        np.testing.assert_array_equal(found, _STATES[index, :, 0])
    pooled = text_vectors(_ENCODED, _MASK, "pooler", 3)
    np.testing.assert_array_equal(pooled, _ENCODED["pooled_output"])


def test_normalized():
    found = np.array(text_vectors(_ENCODED, _MASK, "mean", normalize=True))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    mean = np.array(text_vectors(_ENCODED, _MASK, "mean"))
    np.testing.assert_allclose(
        found, mean / np.linalg.norm(mean, axis=1)[:, None], 1e-5
    )


@pytest.mark.parametrize(
    ("pooling", "layer", "message"),
    [
        ("max", -1, "pooling='max': expected one of mean, cls, pooler"),
        ("mean", 0, "layer=0: the model has the layers 1 to 3"),
        ("mean", 4, "layer=4"),
        ("cls", -4, "layer=-4"),
        ("pooler", 1, "pooling='pooler' reads the last layer, not layer=1"),
    ],
)
def test_refused(pooling, layer, message):
    with pytest.raises(UserError, match=message):
        text_vectors(_ENCODED, _MASK, pooling, layer)
