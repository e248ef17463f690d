"""training_info.json of a pretraining run: what made these weights."""

import importlib.metadata
import platform

import tensorflow as tf

import albert_tf
from data_pipeline.input_pipeline import describe_data

_PACKAGES = ("keras", "tensorflow-text", "sentencepiece", "numpy")


def training_info(flags, input_files, step, evaluations):
    """Steps, data set, metrics, flags, versions and seed, as a dict for JSON.

    Args:
        flags: dict of the run's flags, as they were resolved.
        input_files: what it reads, as a comma list.
        step: optimizer steps done.
        evaluations: the entries of `history.json`.
    """
    return {
        "step": step,
        "random_seed": flags["random_seed"],
        "data": describe_data(input_files),
        "evaluations": evaluations,
        "options": flags,
        "versions": versions(),
    }


def versions():
    """The versions of Python, of this package and of those that it computes with."""
    return {
        "python": platform.python_version(),
        "albert-tf": albert_tf.__version__,
        # Not by its name: the package may be tensorflow-tpu or tensorflow-cpu.
        "tensorflow": tf.__version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }
