"""Attention in blocks of a window, and its queries in parts, against whole rows."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers import sublayers
from albert_tf.layers.attention_mask import attention_mask_of
from albert_tf.layers.local_attention import has_blocks
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import seeded
from tests.models.block_reference import DISENTANGLED

_WINDOW = {
    "num_attention_heads": 2,
    "position_embedding_type": "rotary",
    "local_attention_window": 6,
    "global_attention_every": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": 4096,
}


def test_blocks_are_for_long_rows_without_distances(tiny_config):
    config = tiny_config(local_attention_window=6)
    for tokens, expected in ((12, False), (13, True), (None, True)):
        assert has_blocks(config, tokens) is expected
    distances = tiny_config(local_attention_window=6, **DISENTANGLED)
    assert not has_blocks(distances, None)


def features_of(tokens, is_packed):
    random = np.random.default_rng(3)
    ids = random.integers(5, 37, (2, tokens), dtype="int32")
    mask = np.ones((2, tokens), "int32")
    mask[1, tokens * 2 // 3 :] = 0
    features = {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids}
    if is_packed:
        features["pair_ids"] = mask * (1 + (np.arange(tokens) > 7)).astype("int32")
    return features


def masked(config, *inputs):
    """Makes the mask without blocks, so that a window is only a bias."""
    return dataclasses.replace(attention_mask_of(config, *inputs), blocks_bias=None)


def values_and_gradients(model, features, shape=None):
    specs = {name: tf.TensorSpec(shape, tf.int32) for name in features}

    @tf.function(autograph=False)
    def states_of(features):  # differentiated by its caller, as in a ContrastiveStep
        return model(features)["sequence_output"]

    @tf.function(input_signature=[specs], autograph=False)
    def run(features):
        real = tf.cast(features["input_mask"], "float32")[:, :, None]
        with tf.GradientTape() as tape:
            states = states_of(features)
            loss = tf.reduce_sum(real * states**3)
        return real * states, tape.gradient(loss, [v.value for v in variables])

    variables = model.transformer.trainable_variables
    return run({name: tf.constant(value) for name, value in features.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokens", "is_packed", "options"),
    [
        (9, False, {}),  # too short for blocks
        (25, False, {}),
        (29, True, {}),
        (30, False, {"rematerialize": True}),
        (30, False, {"depth_loop": True, "rematerialize": True}),
    ],
)
def test_blocks_and_parts_equal_masks(
    tokens, is_packed, options, tiny_config, monkeypatch
):
    with seeded(3):
        model = AlbertModel(tiny_config(**_WINDOW, initializer_range=0.3), **options)
    features = features_of(tokens, is_packed)
    with monkeypatch.context() as patch:
        patch.setattr("albert_tf.models.albert.attention_mask_of", masked)
        expected, gradients = values_and_gradients(model, features, (2, tokens))
    monkeypatch.setattr(sublayers, "_LONGEST_WHOLE", 20)
    monkeypatch.setattr(sublayers, "_PART", 8)
    for shape in ((2, tokens), (None, None)):
        found, others = values_and_gradients(model, features, shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        for one, other in zip(others, gradients, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_no_tensor_grows_with_the_square_of_the_tokens(tiny_config):
    tokens = 4096
    model = AlbertModel(tiny_config(**_WINDOW))
    spec = tf.TensorSpec((1, tokens), tf.int32)
    names = ("input_ids", "input_mask", "segment_ids")
    function = tf.function(lambda x: model(x)["sequence_output"], autograph=False)
    graph = function.get_concrete_function(dict.fromkeys(names, spec)).graph
    graphs = [
        graph,
        *(f.graph for f in graph._functions.values() if hasattr(f, "graph")),
    ]
    shapes = [
        tensor.shape
        for each in graphs
        for operation in each.get_operations()
        for tensor in operation.outputs
        if tensor.shape.is_fully_defined()
    ]
    largest = max(shape.num_elements() for shape in shapes)
    assert largest == 2 * sublayers._PART * tokens  # scores of a part, of two heads
