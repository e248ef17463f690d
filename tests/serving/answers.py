"""Texts, and comparisons of what is answered to them."""

import numpy as np
import pytest
import tensorflow as tf

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


def some_at_night(names, *always):
    """Parameters of which `make test` takes some, and `make nightly` the others."""
    night = pytest.mark.nightly
    return [n if n in always else pytest.param(n, marks=night) for n in names]
