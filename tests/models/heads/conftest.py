"""Encoders of one layer, which is enough below a head."""

import pytest


@pytest.fixture(scope="session")
def tiny_config(tiny_config):
    """Makes a tiny `AlbertConfig` of one layer; keyword arguments change it."""
    return lambda **changes: tiny_config(**{"num_hidden_layers": 1, **changes})
