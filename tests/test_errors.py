"""Mistakes of the user keep their one sentence on their way to the user."""

import keras
import pytest

from albert_tf.errors import UserError
from albert_tf.errors import shortened


class Refusing(keras.layers.Layer):
    """Accepts nothing."""

    def call(self, inputs):
        raise UserError("The input is too long.")


def test_keras_adds_nothing_to_a_sentence_and_many_names_are_counted():
    with pytest.raises(UserError) as error:
        Refusing()(keras.ops.ones([1, 2]))
    assert str(error.value) == "The input is too long."
    found = [shortened([*"abcdefg"[:number]]) for number in (1, 5, 6)]
    assert found == ["a", "a, b, c, d, e", "a, b, c, d, e and 1 more"]
