"""A tiny pretrained model."""

import pytest


@pytest.fixture(scope="session")
def pretrained(saved_model):
    """A folder with a random encoder and its vocabulary."""
    return saved_model("encoder")
