"""The head of multiple choice."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.classification import NO_CHOICE
from albert_tf.models.classification import AlbertForMultipleChoice


@pytest.fixture
def features(tiny_features):
    """Two questions with three choices of seven tokens."""
    random = np.random.default_rng(5)
    return {
        "input_ids": random.integers(0, 37, (2, 3, 7), dtype="int32"),
        "input_mask": np.stack([tiny_features["input_mask"]] * 3, axis=1),
        "segment_ids": np.stack([tiny_features["segment_ids"]] * 3, axis=1),
    }


def test_a_choice_that_is_padding_has_no_chance(tiny_config, features):
    model = AlbertForMultipleChoice(tiny_config())
    logits = model(features).numpy()
    features["input_mask"][0, 2] = 0
    features["input_ids"][1, :] = 0
    features["input_mask"][1, :] = 0
    found = model(features).numpy()
    assert found[0, 2] == NO_CHOICE
    np.testing.assert_allclose(found[0, :2], logits[0, :2], atol=1e-6)
    # The official padding of a batch is a question without any choice.
    assert np.all(found[1] > NO_CHOICE)
    rows = {name: value[0] for name, value in features.items()}
    with pytest.raises(UserError, match=r"2 axes, but .* \[batch, choices, tokens\]"):
        model(rows)
