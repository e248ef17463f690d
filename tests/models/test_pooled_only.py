"""Where only the pooled output counts, the last block computes the first token."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.models.sequence_classification import AlbertForSequenceClassification

SEED = tf.constant([5, 17], tf.int32)
CASES = [
    ({}, {"depth_loop": True}),
    ({}, {"depth_loop": True, "rematerialize": True}),
    ({"parameter_sharing": "none"}, {"rematerialize": True}),
    ({"num_hidden_layers": 1}, {}),
    ({"num_hidden_groups": 2, "inner_group_num": 2}, {}),
]


def loss_and_gradients(model, features, pooled_only):
    """Of a training step, by name of the variable."""

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            outputs = model(
                features, training=True, dropout_seed=SEED, pooled_only=pooled_only
            )
            loss = tf.reduce_sum(outputs["pooled_output"][:, :3] ** 2)
        return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])

    loss, gradients = step()
    return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]


@pytest.mark.parametrize(("changes", "options"), CASES)
def test_same_output_and_gradients(tiny_config, tiny_features, changes, options):
    keras.utils.set_random_seed(4)
    model = AlbertModel(tiny_config(**changes), **options)
    whole = model(tiny_features)["pooled_output"]
    saving = model(tiny_features, pooled_only=True)
    assert set(saving) == {"pooled_output"}
    np.testing.assert_allclose(saving["pooled_output"], whole, rtol=0, atol=1e-6)
    expected, found = (
        loss_and_gradients(model, tiny_features, only) for only in (False, True)
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    largest = max(np.abs(gradient).max() for gradient in expected[1])
    for gradient, other in zip(found[1], expected[1], strict=True):
        # The sums over positions are made in another order: a few roundings.
        np.testing.assert_allclose(gradient, other, rtol=0, atol=3e-6 * largest)


def test_several_texts_in_a_row(tiny_config, tiny_features):
    model = AlbertModel(tiny_config())
    pair_ids = np.array([[1, 1, 1, 2, 2, 2, 2]] * 2, "int32")
    for features in (
        {**tiny_features, "pair_ids": pair_ids},
        {
            **tiny_features,
            "pair_ids": pair_ids,
            "cls_positions": np.array([[0, 3]] * 2, "int32"),
        },
    ):
        np.testing.assert_allclose(
            model(features, pooled_only=True)["pooled_output"],
            model(features)["pooled_output"],
            rtol=0,
            atol=1e-6,
        )


def products(model, features):
    """Floating point operations of the matrix products."""
    graph = tf.function(lambda: model(features)).get_concrete_function().graph
    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    ).with_empty_output()
    profile = tf.compat.v1.profiler.profile(graph, options=options.build())
    return profile.total_float_ops


def test_the_classifier_saves_most_of_the_last_block(tiny_config, tiny_features):
    config = tiny_config(hidden_size=48, intermediate_size=192, num_hidden_layers=2)
    classifier = AlbertForSequenceClassification(config, 2)
    whole = products(AlbertModel(config), tiny_features)
    # Of two blocks, the second keeps its keys and values: 2 of 12 units of work.
    assert products(classifier, tiny_features) < 0.7 * whole
