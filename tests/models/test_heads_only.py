"""For heads, the last block computes the tokens that they read, and no others."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from tests.models.block_reference import DISENTANGLED
from tests.models.block_reference import MODERN

SEED = tf.constant([5, 17], tf.int32)
PAIR_IDS = np.array([[1, 1, 1, 2, 2, 2, 2]] * 2, "int32")
CLS_POSITIONS = np.array([[0, 3]] * 2, "int32")
_MODERN = {**MODERN, "num_attention_heads": 2, "num_hidden_layers": 2}
CASES = [
    ({}, {"depth_loop": True, "rematerialize": True}),
    (_MODERN, {}),
    ({**_MODERN, "num_hidden_layers": 1}, {"rematerialize": True}),
    (DISENTANGLED, {}),
]


def gradients(model, features, names, heads_only):
    """Those of a training step whose loss reads some outputs."""
    with tf.GradientTape() as tape:
        outputs = model(
            features, training=True, dropout_seed=SEED, heads_only=heads_only
        )
        loss = tf.add_n([tf.reduce_sum(outputs[name] ** 2) for name in names])
    found = tape.gradient(loss, [v.value for v in model.trainable_variables])
    return [np.array(tf.convert_to_tensor(gradient)) for gradient in found]


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "options"), CASES)
@pytest.mark.parametrize("read", ["pooled", "logits", "packed"])
def test_same_numbers_and_gradients(read, changes, options, tiny_config, tiny_features):
    keras.utils.set_random_seed(4)
    model_class = AlbertModel if read == "pooled" else AlbertForPreTraining
    model = model_class(tiny_config(**changes), **options)
    names = ["masked_lm_logits", "sentence_order_logits"]
    if read == "pooled":
        del tiny_features["masked_lm_positions"]
        names = ["pooled_output"]
    if read == "packed":
        tiny_features |= {"pair_ids": PAIR_IDS, "cls_positions": CLS_POSITIONS}
    whole, saving = (model(tiny_features, heads_only=only) for only in (False, True))
    assert sorted(saving) == names
    for name in names:
        np.testing.assert_allclose(saving[name], whole[name], rtol=0, atol=3e-6)
    expected, found = (
        gradients(model, tiny_features, names, only) for only in (False, True)
    )
    largest = max(np.abs(gradient).max() for gradient in expected)
    for gradient, other in zip(found, expected, strict=True):
        # The sums over positions are made in another order: a few roundings.
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-5 * largest)


def test_the_first_of_several_texts_is_pooled(tiny_config, tiny_features):
    del tiny_features["masked_lm_positions"]
    model = AlbertModel(tiny_config())
    features = {**tiny_features, "pair_ids": PAIR_IDS}
    whole, saving = (
        model(features, heads_only=only)["pooled_output"] for only in (False, True)
    )
    np.testing.assert_allclose(saving, whole, rtol=0, atol=1e-6)


def products(model, features, **arguments):
    """Floating point operations of the matrix products."""
    function = tf.function(lambda: model(features, **arguments))
    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    ).with_empty_output()
    profile = tf.compat.v1.profiler.profile(
        function.get_concrete_function().graph, options=options.build()
    )
    return profile.total_float_ops


@pytest.mark.slow
def test_the_last_block_saves_most_of_its_work(tiny_config, tiny_features):
    tiny_features["masked_lm_positions"] = np.array([[1], [2]], "int32")
    config = tiny_config(hidden_size=48, intermediate_size=192, num_hidden_layers=2)
    model = AlbertForPreTraining(config)
    whole = products(model, tiny_features)
    # Of two blocks, the second keeps its keys and values: 2 of 12 units of work.
    assert products(model, tiny_features, heads_only=True) < 0.8 * whole
