"""Strings of any depth, as a task with choices takes them."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.client.batches import outputs_of
from albert_tf.serving.client.inputs import Inputs

_CHOICES = Inputs({"question": 1, "choices": 2}, ("question", "choices"))


@tf.function(
    input_signature=[
        tf.TensorSpec([None], tf.string, name="question"),
        tf.TensorSpec([None, None], tf.string, name="choices"),
    ]
)
def longest(question, choices):
    """The longest choice, and how many there are."""
    best = tf.argmax(tf.strings.length(choices), axis=1)
    count = tf.reduce_sum(tf.cast(choices != "", tf.int32), axis=1)
    return {"best": tf.gather(choices, best, batch_dims=1), "count": count}


def test_lists_of_texts_for_each_input():
    columns, is_one = _CHOICES.columns(("who?", ["a", "bé"]), {})
    assert is_one
    assert columns == {"question": [b"who?"], "choices": [[b"a", "bé".encode()]]}
    given = (["long question", "q"], [["x", "yyy", "zz"], ["ö", "oh"]])
    columns, is_one = _CHOICES.columns(given, {})
    assert not is_one
    for batch_size in (1, 2):
        found = outputs_of(longest.get_concrete_function(), columns, batch_size)
        assert found["best"].tolist() == ["yyy", "ö"]
        np.testing.assert_array_equal(found["count"], [3, 2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("who?", "a"), "choices must be a list of str, got str"),
        ((["who?"], ["a", "b"]), "of one input, or lists of all"),
        ((["who?"], [["a"], ["b"]]), "must be equal in number, got 1 and 2"),
        (("who?", ["a", 1]), r"choices\[1\] must be a str, got int"),
    ],
)
def test_what_does_not_fit(given, message):
    with pytest.raises(UserError, match=message):
        _CHOICES.columns(given, {})
