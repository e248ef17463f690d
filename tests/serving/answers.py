"""Texts, exports, and comparisons of what they answer."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor

TEXTS = [
    "the film was very good .",
    "",
    "good",
    "it is not a bad plot, and not a good one. " * 40,
    *["a very good film , it is" * (i % 3) for i in range(20)],
]


def assert_same(answers, expected):
    """Compares arrays by name: texts exactly, numbers almost."""
    assert answers.keys() == expected.keys()
    for name, value in expected.items():
        if value.dtype == object:
            assert answers[name].tolist() == value.tolist()
        else:
            np.testing.assert_allclose(answers[name], value, rtol=0, atol=1e-5)


def exported(source, target, **options):
    """Exports a model's folder; returns the folder of the version."""
    return export(ExportOptions(str(source), str(target), **options))


def described(version):
    """Reads what signature.json says of an export."""
    return json.loads((version / "signature.json").read_text())


def shares(source, *texts, **batch):
    """The probabilities that a model's folder, or an export, answers."""
    return Predictor(source).arrays(*texts, **batch)["probabilities"]


def signature(version, name="serving_default"):
    return tf.saved_model.load(str(version)).signatures[name]


def example(**features):
    """Serializes a `tf.Example` of lists of numbers."""
    made = tf.train.Example()
    for name, values in features.items():
        made.features.feature[name].int64_list.value.extend(values)
    return made.SerializeToString()


def labelled_file(path):
    """Writes a table of three labelled texts; returns its path, a str."""
    path.write_text("sentence\tlabel\na good film\tyes\nbad\tno\nnot good\tno\n")
    return str(path)


def at_night(*values):
    """Parameters that `make nightly` alone takes."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def some_at_night(names, *always):
    """Parameters of which `make test` takes some, and `make nightly` the others."""
    return [n if n in always else at_night(n) for n in names]
