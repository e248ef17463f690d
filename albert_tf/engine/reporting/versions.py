"""The versions that a run was made with, for `training_info.json`."""

import importlib.metadata
import platform

import tensorflow as tf

import albert_tf

_PACKAGES = ("keras", "tensorflow-text", "sentencepiece", "numpy")


def versions():
    """Returns the versions of Python, of this package and of its dependencies."""
    return {
        "python": platform.python_version(),
        "albert-tf": albert_tf.__version__,
        # Not by its name: the package may be tensorflow-tpu or tensorflow-cpu.
        "tensorflow": tf.__version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }
