"""Features that every encoder takes."""

import pytest


@pytest.fixture
def features(tiny_features):
    """Of two rows, each of one text, without tokens to predict."""
    del tiny_features["masked_lm_positions"]
    return tiny_features
