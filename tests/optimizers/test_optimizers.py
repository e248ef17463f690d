"""LAMB and AdamW against a NumPy transcription of the official formulas."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers.moments import is_excluded

LEARNING_RATE = 0.01


def reference_steps(weight, gradients, adapt, excluded):
    """The official update in float64; excluded variables neither decay nor adapt."""
    weight = weight.astype(np.float64)
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for gradient in gradients:
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        update = m / (np.sqrt(v) + 1e-6)
        if not excluded:
            update = update + 0.01 * weight
            if adapt:
                norms = np.linalg.norm(weight), np.linalg.norm(update)
                update *= norms[0] / norms[1] if min(norms) > 0 else 1.0
        weight = weight - LEARNING_RATE * update
    return weight


@pytest.fixture
def dense():
    layer = keras.layers.Dense(3, bias_initializer="ones")
    layer.build((None, 4))
    return layer


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_ten_steps_equal_the_formulas(optimizer_class, dense):
    random = np.random.default_rng(0)
    gradients = [random.normal(size=(10, *v.shape)) for v in dense.weights]
    starts = [v.numpy() for v in dense.weights]
    optimizer = optimizer_class(learning_rate=LEARNING_RATE)
    for step in range(10):
        step_gradients = [tf.constant(g[step], tf.float32) for g in gradients]
        optimizer.apply(step_gradients, dense.weights)
    for i, variable in enumerate(dense.weights):
        expected = reference_steps(
            starts[i], gradients[i], optimizer_class is LAMB, excluded=i == 1
        )
        np.testing.assert_allclose(variable.numpy(), expected, rtol=2e-6)


def test_first_adamw_step_is_not_bias_corrected(dense):
    optimizer = AdamW(learning_rate=1.0, weight_decay_rate=0.0)
    optimizer.apply([tf.ones([4, 3]), tf.ones([3])], dense.weights)
    np.testing.assert_allclose(1.0 - dense.bias.numpy(), 0.1 / np.sqrt(1e-3), rtol=1e-4)


def test_bias_correction_makes_the_first_step_one_learning_rate(dense):
    optimizer = AdamW(learning_rate=0.1, bias_correction=True)
    optimizer.apply([tf.ones([4, 3]), tf.ones([3])], dense.weights)
    np.testing.assert_allclose(1.0 - dense.bias.numpy(), 0.1, rtol=1e-4)


def test_the_trust_ratio_is_the_one_applied(dense):
    """LAMB's step is AdamW's, times the ratio."""
    random = np.random.default_rng(0)
    optimizers = [kind(learning_rate=LEARNING_RATE) for kind in (LAMB, AdamW)]
    for optimizer in optimizers:
        optimizer.build(dense.weights)
    for index, variable in enumerate(dense.weights):
        weight, gradient, m = random.normal(size=(3, *variable.shape)).astype("float32")
        slot = (index, gradient, weight, m, np.square(m))
        changes = [
            optimizer.new_values(*slot, LEARNING_RATE, 0)[0] - weight
            for optimizer in optimizers
        ]
        ratios = [optimizer.trust_ratio(*slot, 0) for optimizer in optimizers]
        np.testing.assert_allclose(changes[0], ratios[0] * changes[1], rtol=1e-4)
        assert (ratios[0] == 1.0) == (index == 1)  # the bias
        assert ratios[1] == 1.0


@pytest.mark.parametrize("weight,gradient", [(0.0, 1.0), (1.0, 0.0)])
def test_trust_ratio_is_one_where_a_norm_is_zero(weight, gradient):
    kernel = keras.Variable(np.full([2, 2], weight), name="kernel", dtype="float32")
    LAMB(learning_rate=1.0, weight_decay_rate=0.0).apply(
        [tf.fill([2, 2], gradient)], [kernel]
    )
    expected = weight - gradient * 0.1 / (np.sqrt(0.001) + 1e-6)
    np.testing.assert_allclose(kernel.numpy(), expected, rtol=1e-6)


def test_rows_without_gradient_still_decay():
    table = keras.layers.Embedding(3, 2, embeddings_initializer="ones")
    table.build()
    optimizer = AdamW(learning_rate=1.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(table(tf.constant([0])))
    gradient = tape.gradient(loss, table.trainable_weights)
    optimizer.apply([tf.convert_to_tensor(gradient[0])], table.trainable_weights)
    np.testing.assert_allclose(table.embeddings.numpy()[1:], 0.99, rtol=1e-6)


@pytest.mark.parametrize(
    "path,excluded",
    [
        ("albert/embeddings/layer_norm/gamma", True),
        ("albert/transformer/group_0/attention/query/bias", True),
        ("masked_lm_head/output_bias", True),
        ("bert/encoder/transformer/group_0/inner_group_0/LayerNorm_1/beta", True),
        ("albert/transformer/group_0/attention/query/kernel", False),
        ("albert/embeddings/word_embeddings", False),
        ("classifier/output_weights", False),
    ],
)
def test_exclusions_hold_for_keras_and_official_paths(path, excluded):
    assert is_excluded(path) == excluded


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_optimizer_trains_through_compile_and_survives_its_config(optimizer_class):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = optimizer_class(learning_rate=0.1, weight_decay_rate=0.0, beta_1=0.8)
    restored = optimizer_class.from_config(optimizer.get_config())
    assert restored.get_config() == optimizer.get_config()
    model.compile(optimizer=restored, loss="mse")
    x = np.random.default_rng(1).normal(size=(64, 4)).astype("float32")
    history = model.fit(x, x @ np.ones((4, 1)), epochs=15, verbose=0).history["loss"]
    assert history[-1] < 0.5 * history[0]


def test_schedule_of_the_official_code():
    schedule = create_optimizer("lamb", 2.0, 100, 10, poly_power=2.0)._learning_rate
    steps = [0, 9, 10, 50, 100, 1000]
    expected = [0.0, 1.8, 2 * 0.9**2, 0.5, 0.0, 0.0]
    rates = [float(schedule(step)) for step in steps]
    np.testing.assert_allclose(rates, expected, rtol=1e-6, atol=0)
    assert schedule.from_config(schedule.get_config()).get_config()["power"] == 2.0


def test_schedule_without_warmup_starts_at_the_full_rate():
    schedule = create_optimizer("adamw", 2.0, 100)._learning_rate
    assert float(schedule(0)) == 2.0


def test_unknown_optimizer_is_named():
    with pytest.raises(UserError, match="'lamp' is unknown"):
        create_optimizer("lamp", 1.0, 10)
