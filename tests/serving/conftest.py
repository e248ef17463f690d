"""A tiny model with its export."""

import pytest


@pytest.fixture(scope="session")
def tiny_tokenizer(family_tokenizer):
    return family_tokenizer("albert")


@pytest.fixture(scope="session")
def classifier(opened, export_of):
    """A tiny classifier; see `saved_model`. Its `version` is that of its export."""
    served = opened("classification")
    served.version = export_of("classification")
    return served
