"""A tiny model of each kind that users meet first."""

import pytest

import albert_tf

_MODELS = {
    "AlbertModel": {},
    "AlbertForPreTraining": {},
    "AlbertForSequenceClassification": {"num_labels": 3},
}


@pytest.fixture(params=_MODELS)
def model(request, tiny_config):
    """A model with the smallest config, once of each class."""
    model_class = getattr(albert_tf, request.param)
    return model_class(tiny_config(num_hidden_layers=1), **_MODELS[request.param])
