"""Shared fixtures: where the reference material lies, and two virtual devices."""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
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
def two_devices():
    """Two virtual CPU devices; they can only be made before TensorFlow starts."""
    import tensorflow as tf

    return tf.config.list_logical_devices("CPU")


def pytest_configure(config):
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
