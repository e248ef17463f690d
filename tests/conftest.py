"""Shared fixtures: where the reference material lies, and two virtual devices."""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import pytest  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project():
    """The root folder of the project."""
    return PROJECT


@pytest.fixture(scope="session")
def shared():
    """Finds reference material beside the checkout, or skips the test."""

    def find(relative_path):
        path = PROJECT.parent / "shared" / relative_path
        if not path.exists():
            pytest.skip(f"reference material {relative_path} is not beside the project")
        return path

    return find


@pytest.fixture(scope="session")
def two_replicas():
    """The one MirroredStrategy of the test process, on two virtual CPU devices.

    A second one in the same process would number its collective operations like the
    first, and TensorFlow would mix them up ("Shape mismatch in the collective").
    """
    import tensorflow as tf

    devices = tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
    assert strategy.num_replicas_in_sync == 2
    return strategy


def pytest_configure(config):
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)


@pytest.fixture(scope="session")
def tiny_config():
    """Makes a tiny `AlbertConfig` of unequal sizes; keyword arguments change it."""
    from albert_tf.config import AlbertConfig

    def make(**changes):
        sizes = {
            "vocab_size": 37,
            "embedding_size": 6,
            "hidden_size": 12,
            "num_hidden_layers": 4,
            "num_attention_heads": 3,
            "intermediate_size": 20,
            "max_position_embeddings": 16,
            "initializer_range": 0.2,
        }
        return AlbertConfig(**{**sizes, **changes})

    return make


@pytest.fixture
def tiny_features():
    """Features of two texts of 7 tokens for `tiny_config`; the second is padded."""
    import numpy as np

    random = np.random.default_rng(3)
    return {
        "input_ids": random.integers(0, 37, (2, 7), dtype="int32"),
        "input_mask": np.array([[1] * 7, [1] * 5 + [0] * 2], "int32"),
        "segment_ids": np.array([[0] * 3 + [1] * 4] * 2, "int32"),
        "masked_lm_positions": np.array([[1, 4, 6], [2, 3, 0]], "int32"),
    }
