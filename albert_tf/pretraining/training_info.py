"""training_info.json of a pretraining run: what made these weights."""

import dataclasses
import importlib.metadata
import platform

import tensorflow as tf

import albert_tf
from data_pipeline.input_pipeline import describe_data

_PACKAGES = ("keras", "tensorflow-text", "sentencepiece", "numpy")


def training_info(options, step, evaluations):
    """Steps, data set, metrics, flags, versions and seed, as a dict for JSON.

    Args:
        options: the `PretrainingOptions`.
        step: optimizer steps done.
        evaluations: the entries of `history.json`.
    """
    files = filter(None, (options.input_file, options.second_phase_input_file))
    return {
        "step": step,
        "random_seed": options.random_seed,
        "data": describe_data(",".join(files)),
        "evaluations": evaluations,
        "options": dataclasses.asdict(options),
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
