"""For heads, the last block computes the tokens that they read, and no others."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining

SEED = tf.constant([5, 17], tf.int32)
PAIR_IDS = np.array([[1, 1, 1, 2, 2, 2, 2]] * 2, "int32")
CLS_POSITIONS = np.array([[0, 3]] * 2, "int32")
_OTHERS = [
    ({}, {"depth_loop": True}),
    ({"parameter_sharing": "none", "num_hidden_layers": 2}, {"rematerialize": True}),
    ({"num_hidden_layers": 1}, {}),
]
CASES = [
    ({}, {"depth_loop": True, "rematerialize": True}),
    ({"num_hidden_groups": 2, "inner_group_num": 2}, {}),
    *(pytest.param(*case, marks=pytest.mark.nightly) for case in _OTHERS),
]


@pytest.fixture
def pooled_features(tiny_features):
    """Returns a classifier's features: no positions to predict."""
    return {k: v for k, v in tiny_features.items() if k != "masked_lm_positions"}


def loss_and_gradients(compute, variables):
    """Computes both for a training step; `compute` returns tensors."""

    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.reduce_sum(output**2) for output in compute()])
    gradients = tape.gradient(loss, [v.value for v in variables])
    return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]


def assert_same_training(compute, variables):
    """`compute(True)` and `compute(False)` have the same loss and gradients."""
    expected, found = (
        loss_and_gradients(lambda saving=saving: compute(saving), variables)
        for saving in (False, True)
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    largest = max(np.abs(gradient).max() for gradient in expected[1])
    for gradient, other in zip(found[1], expected[1], strict=True):
        # The sums over positions are made in another order: a few roundings.
        np.testing.assert_allclose(gradient, other, rtol=0, atol=3e-6 * largest)


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "options"), CASES)
def test_same_pooled_output_and_gradients(
    tiny_config, pooled_features, changes, options
):
    keras.utils.set_random_seed(4)
    model = AlbertModel(tiny_config(**changes), **options)
    whole = model(pooled_features)["pooled_output"]
    saving = model(pooled_features, heads_only=True)
    assert set(saving) == {"pooled_output"}
    np.testing.assert_allclose(saving["pooled_output"], whole, rtol=0, atol=1e-6)

    def compute(heads_only):
        outputs = model(
            pooled_features, training=True, dropout_seed=SEED, heads_only=heads_only
        )
        return [outputs["pooled_output"][:, :3]]

    assert_same_training(compute, model.trainable_variables)


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "options"), CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_same_logits_and_gradients(
    tiny_config, tiny_features, changes, options, packed
):
    keras.utils.set_random_seed(4)
    if packed:
        own = {"pair_ids": PAIR_IDS, "cls_positions": CLS_POSITIONS}
        tiny_features = {**tiny_features, **own}
    model = AlbertForPreTraining(tiny_config(**changes), **options)
    whole = model(tiny_features)
    saving = model(tiny_features, heads_only=True)
    assert set(saving) == {"masked_lm_logits", "sentence_order_logits"}
    for name, logits in saving.items():
        np.testing.assert_allclose(logits, whole[name], rtol=0, atol=3e-6)

    def compute(heads_only):
        outputs = model(
            tiny_features, training=True, dropout_seed=SEED, heads_only=heads_only
        )
        return [outputs[name] for name in sorted(saving)]

    assert_same_training(compute, model.trainable_variables)


def test_several_texts_in_a_row(tiny_config, pooled_features):
    model = AlbertModel(tiny_config())
    for features in (
        {**pooled_features, "pair_ids": PAIR_IDS},
        {**pooled_features, "pair_ids": PAIR_IDS, "cls_positions": CLS_POSITIONS},
    ):
        np.testing.assert_allclose(
            model(features, heads_only=True)["pooled_output"],
            model(features)["pooled_output"],
            rtol=0,
            atol=1e-6,
        )


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


def test_the_last_block_saves_most_of_its_work(tiny_config, pooled_features):
    config = tiny_config(hidden_size=48, intermediate_size=192, num_hidden_layers=2)
    whole = products(AlbertModel(config), pooled_features)
    # Of two blocks, the second keeps its keys and values: 2 of 12 units of work.
    classifier = AlbertForSequenceClassification(config, 2)
    assert products(classifier, pooled_features) < 0.7 * whole
    features = {**pooled_features, "masked_lm_positions": np.array([[1], [2]], "int32")}
    pretrained = AlbertForPreTraining(config)
    whole = products(pretrained, features)
    assert products(pretrained, features, heads_only=True) < 0.8 * whole
