"""Strings of any depth, as a task with choices takes them."""

import io

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.inputs import outputs_of

_CHOICES = Inputs({"question": 1, "choices": 2}, ("question", "choices"))


@tf.function(
    input_signature=[
        tf.TensorSpec([None], tf.string, name="question"),
        tf.TensorSpec([None, None], tf.string, name="choices"),
    ]
)
def longest(question, choices):
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


def test_halves_of_surrogate_pairs_are_replaced():
    columns, _ = Inputs({"text": 1}, ("text",)).columns((["a\0b", "\ud83d."],), {})
    assert columns == {"text": [b"a\0b", "\ufffd.".encode()]}


@pytest.mark.parametrize(
    "many",
    [
        iter,
        np.array,
        tf.constant,
        lambda texts: dict.fromkeys(texts).keys(),
        lambda texts: io.StringIO("\n".join(texts)),
        lambda texts: tf.data.Dataset.from_tensor_slices(texts),
    ],
)
def test_whatever_holds_many_is_read_once_and_wholly(many):
    texts = ["a", "b", "c"]
    columns, is_one = Inputs({"text": 1}, ("text",)).columns((many(texts),), {})
    assert not is_one
    assert [text.strip() for text in columns["text"]] == [b"a", b"b", b"c"]
    given = iter(["p?", "q?"]), (iter(texts) for _ in range(2))
    columns, is_one = _CHOICES.columns(given, {})
    assert columns == {"question": [b"p?", b"q?"], "choices": [[b"a", b"b", b"c"]] * 2}
    columns, is_one = _CHOICES.columns(("q?", many(texts)), {})
    assert is_one
    assert [len(options) for options in columns["choices"]] == [3]


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (("who?", "a"), {}, "choices must be a list of str, got str"),
        ((["who?"], ["a", "b"]), {}, "of one input, or lists of all"),
        ((["who?"], [["a"], ["b"]]), {}, "must be equal in number, got 1 and 2"),
        (([{"who?"}], [["a"]]), {}, r"question\[0\] must be a list, got a set"),
        (("who?", {"a": 1}), {}, "choices must be a list, got a dict; pass"),
        (("who?", ["a", 1]), {}, r"choices\[1\] must be a str, got int"),
        (("a", ["b"], "c"), {}, "takes question and choices, but got 3 arguments; put"),
        (("a",), {"context": "b"}, "takes question .* got question and context"),
        (("a", ["b"]), {"question": "c"}, "question is given twice"),
    ],
)
def test_what_does_not_fit(given, named, message):
    with pytest.raises(UserError, match=message):
        _CHOICES.columns(given, named)
