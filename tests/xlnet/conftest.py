"""A tiny XLNet and its features."""

import numpy as np
import pytest

from albert_tf.xlnet.config import XLNetConfig


@pytest.fixture
def xlnet_config():
    """Makes a tiny `XLNetConfig` of unequal sizes; keyword arguments change it."""

    def make(**changes):
        sizes = {
            "n_token": 23,
            "d_model": 8,
            "n_layer": 2,
            "n_head": 3,
            "d_head": 4,
            "d_inner": 10,
            "initializer_range": 0.5,
        }
        return XLNetConfig(**{**sizes, **changes})

    return make


@pytest.fixture
def xlnet_features():
    """Features of 2 rows of 6 tokens with 3 predictions, of which one is padding."""
    random = np.random.default_rng(5)
    perm_mask = (random.random((2, 6, 6)) < 0.4).astype("float32")
    key_order = random.integers(0, 6, (2, 6), dtype="int32")
    perm_mask[:, :, 0] = key_order[:, 0] = 0  # each sees one token at least
    return {
        "input_ids": random.integers(0, 23, (2, 6), dtype="int32"),
        "input_mask": np.array([[1] * 6, [1] * 5 + [0]], "int32"),
        "segment_ids": np.array([[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 3, 3]], "int32"),
        "perm_mask": perm_mask,
        "query_order": random.integers(1, 6, (2, 6), dtype="int32"),
        "key_order": key_order,
        "target_positions": np.array([[0, 4, 5], [2, 3, -1]], "int32"),
    }


@pytest.fixture
def randomised():
    """Gives every weight of a model another random value, biases and norms too."""

    def randomise(model):
        random = np.random.default_rng(1)
        for variable in model.official_variables().values():
            variable.assign(random.normal(0, 0.5, variable.shape))
        return model

    return randomise


@pytest.fixture
def theirs(xlnet_config):
    """A config that all forms can express."""
    sizes = {"n_head": 2, "mem_len": 5, "reuse_len": 3, "clamp_len": 9}
    return xlnet_config(**sizes, dropout=0.2, dropatt=0.2)
