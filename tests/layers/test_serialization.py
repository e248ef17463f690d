"""Every layer comes back from its config."""

import keras
import pytest

from albert_tf.layers.base import LayerNorm
from albert_tf.layers.embeddings import Embeddings
from albert_tf.layers.exits import ExitClassifiers
from albert_tf.layers.heads import ClassificationHead
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.layers.sublayers import FeedForward
from albert_tf.layers.sublayers import SelfAttention
from albert_tf.layers.transformer_stack import TransformerStack

_HEAD = {"num_labels": 3, "initializer_range": 0.1}
_OF_CONFIG = (SelfAttention, Embeddings, FeedForward, LayerNorm, MaskedLMHead)


@pytest.mark.parametrize(
    ("layer_class", "arguments"),
    [
        *((layer_class, {}) for layer_class in _OF_CONFIG),
        (ClassificationHead, _HEAD),
        (ExitClassifiers, _HEAD),
        (TransformerStack, {"depth_loop": True, "rematerialize": True}),
    ],
)
def test_round_trip(layer_class, arguments, tiny_config):
    layer = layer_class(
        tiny_config(num_hidden_groups=2), dtype="mixed_bfloat16", **arguments
    )
    data = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(data)
    assert type(copy) is layer_class
    assert copy.config == layer.config
    assert copy.dtype_policy.name == "mixed_bfloat16"
    assert copy.get_config() == layer.get_config()
    for name, value in arguments.items():
        assert getattr(copy, name) == value
