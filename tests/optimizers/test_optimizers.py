"""LAMB and AdamW against a NumPy transcription of the official formulas."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers import WarmupStableDecay
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.rules import rule_of
from tests.optimizers.conftest import drawn_gradients
from tests.optimizers.conftest import take_steps

LEARNING_RATE = 0.01


def reference_steps(weight, gradients, adapt, excluded):
    """Takes the official steps in float64; excluded ones neither decay nor adapt."""
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
    kernel = keras.initializers.RandomNormal(stddev=0.5, seed=0)
    layer = keras.layers.Dense(3, kernel_initializer=kernel, bias_initializer="ones")
    layer.build((None, 4))
    return layer


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_ten_steps_equal_the_formulas(optimizer_class, dense):
    gradients = drawn_gradients(dense.weights, 10)
    starts = [v.numpy() for v in dense.weights]
    take_steps(optimizer_class(LEARNING_RATE), gradients, dense.weights)
    for i, variable in enumerate(dense.weights):
        options = {"adapt": optimizer_class is LAMB, "excluded": i == 1}
        expected = reference_steps(starts[i], gradients[i], **options)
        np.testing.assert_allclose(variable.numpy(), expected, rtol=2e-6)


def test_bias_correction_makes_the_first_step_one_learning_rate(dense):
    optimizer = AdamW(learning_rate=0.1, bias_correction=True)
    optimizer.apply([tf.ones([4, 3]), tf.ones([3])], dense.weights)
    # 1 - 0.999 in float32 alone would be wrong by 1.3e-5.
    np.testing.assert_allclose(1.0 - dense.bias.numpy(), 0.1, rtol=2e-6)


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_compile_trains_embeddings(optimizer_class):
    """Their gradients hold only the rows that were looked up; all rows decay."""
    optimizer = optimizer_class(0.1, weight_decay_rate=0.5, beta_1=0.8)
    restored = optimizer_class.from_config(optimizer.get_config())
    assert restored.get_config() == optimizer.get_config()
    layers = [keras.layers.Embedding(5, 3), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((2,), dtype="int32"), *layers])
    before = model.weights[0].numpy()
    model.compile(restored, "mse")
    model.fit(np.array([[1, 2], [2, 3]]), np.ones((2, 6)), verbose=0)
    change = model.weights[0].numpy() - before
    if optimizer_class is AdamW:
        np.testing.assert_allclose(change[[0, 4]], -0.05 * before[[0, 4]], rtol=1e-4)
    assert np.all(np.abs(change[1:4]) > 1e-4)


def test_the_trust_ratio_is_the_one_applied(dense):
    """LAMB's step is AdamW's, times the ratio."""
    random = np.random.default_rng(0)
    optimizers = [kind(learning_rate=LEARNING_RATE) for kind in (LAMB, AdamW)]
    for optimizer in optimizers:
        optimizer.build(dense.weights)
    for index, variable in enumerate(dense.weights):
        weight, gradient, m = random.normal(size=(3, *variable.shape)).astype("float32")
        moments = {"first_moments": m, "second_moments": np.square(m)}
        slot = (index, gradient, weight, moments)
        new = [own.new_values(*slot, LEARNING_RATE, 0)[0] for own in optimizers]
        changes = [value - weight for value in new]
        ratios = [own.applied_trust_ratio(*slot, 0) for own in optimizers]
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


@pytest.mark.parametrize(
    ("excluded", "paths"),
    [
        (True, "albert/embeddings/layer_norm/gamma masked_lm_head/output_bias"),
        (True, "albert/transformer/group_0/attention/query/bias layer_norm/bias"),
        (True, "bert/encoder/transformer/group_0/inner_group_0/LayerNorm_1/beta"),
        (False, "albert/transformer/group_0/attention/query/kernel"),
        (False, "albert/embeddings/word_embeddings classifier/output_weights"),
        (False, "unbiased_head/kernel head/temperature"),
    ],
)
def test_exclusions_hold_for_keras_and_official_paths(excluded, paths):
    assert {rule_of(path).excluded for path in paths.split()} == {excluded}


def rates(schedule, *steps):
    return np.array([float(schedule(step)) for step in steps])


def test_schedule_of_the_official_code():
    optimizer = create_optimizer("lamb", 2.0, 100, 10, hyperparameters={"power": 2.0})
    schedule = optimizer._learning_rate
    expected = [0.0, 1.8, 2 * 0.9**2, 0.5, 0.0, 0.0]
    found = rates(schedule, 0, 9, 10, 50, 100, 1000)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)
    assert schedule.from_config(schedule.get_config()).get_config()["power"] == 2.0
    assert float(create_optimizer("adamw", 2.0, 100)._learning_rate(0)) == 2.0
    assert float(LAMB(0.03).learning_rate_after(7)) == pytest.approx(0.03)
    late = create_optimizer("lamb", 1.0, 100, 10, start_warmup_step=20)
    found = rates(late._learning_rate, 0, 19, 20, 25, 30)
    np.testing.assert_allclose(found, [0.0, 0.0, 0.0, 0.5, 0.7], rtol=1e-6)
    assert scaled_learning_rate(0.00176, 4096) == 0.00176
    assert scaled_learning_rate(0.00176, 1024) == pytest.approx(0.00088)


def test_schedules_share_the_warmup_and_differ_in_the_decay():
    warmed = {
        "polynomial": [0.8, 0.4, 0.0, 0.0],
        "cosine": [0.5 + 0.5 * np.cos(np.pi * t / 100) for t in (20, 60, 100, 100)],
        "constant": [1.0] * 4,
        "wsd": [1.0, 1.0, 0.0, 0.0],
    }
    for name, expected in warmed.items():
        schedule = create_optimizer("lamb", 2.0, 100, 10, lr_schedule=name)
        schedule = schedule._learning_rate
        found = rates(schedule, 0, 5, 9, 20, 60, 100, 1000)
        expected = 2.0 * np.array([0.0, 0.5, 0.9, *expected])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
        assert found.min() >= 0
        again = schedule.from_config(schedule.get_config())
        assert float(again(60)) == found[4]
    # A stable rate cools down by the root of what is done.
    found = rates(WarmupStableDecay(2.0, 100, cooldown=0.4), 64, 70, 90)
    expected = [2.0 * (1 - ((t - 60) / 40) ** 0.5) for t in (64, 70, 90)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "warmup", "message"),
    [
        ("cosine", 64, "step 64 of 100, where the rate jumps to 28.7% of its peak"),
        ("wsd", 95, "rate jumps to 13.4% of its peak: --lr_schedule=wsd counts from"),
        ("polynomial", 51, "jumps to 49.0%"),
        ("cosine", 40, None),
        ("wsd", 80, None),
        ("constant", 99, None),
    ],
)
def test_a_jump_after_a_long_warmup_is_told(name, warmup, message, caplog):
    create_optimizer("adamw", 0.5, 100, warmup, lr_schedule=name)
    assert (message in caplog.text) if message else not caplog.text


def test_one_rule_claims_each_variable_of_the_model(tiny_config):
    model = AlbertForPreTraining(tiny_config(num_hidden_groups=2))
    optimizer = LAMB(weight_decay_rate=0.01)
    variables = model.trainable_variables
    optimizer.build(variables)
    lines = [line.split() for line in optimizer.rules_table(variables)]
    # 2 groups of 6 kernels; 3 tables, mapping, pooler and the two heads.
    kinds = [["12", "normalizations"], ["17", "biases"], ["19", "weights"]]
    assert [line[:2] for line in lines] == kinds
    counts = [int(line[2].replace(",", "")) for line in lines]
    assert sum(counts) == model.count_params()
    assert "own trust ratio" in optimizer.rules_table(variables)[2]
    assert "trust" not in "".join(AdamW().rules_table(variables))
    (line,) = LAMB().rules_table([keras.Variable([1.0], name="temperature")])
    assert "others" in line and "temperature" in line
    layer = keras.layers.Dense(2, name="layer_norm_projection")
    layer.build((None, 2))
    with pytest.raises(UserError, match="normalizations and weights.*rename it"):
        LAMB().build([layer.kernel])


def test_moments_are_float32_under_mixed_precision(tiny_config):
    model = AlbertForPreTraining(tiny_config(), dtype="mixed_bfloat16")
    optimizer = LAMB()
    optimizer.build(model.trainable_variables)
    dtypes = {v.dtype for own in optimizer.moments for v in own.values()}
    assert dtypes == {"float32"}
    bfloat16 = tf.ones([2, 2], tf.bfloat16)
    moments = dict.fromkeys(optimizer.moment_names, tf.ones([2, 2]))
    weight, moments = optimizer.new_values(
        0, bfloat16, tf.ones([2, 2]), moments, 0.1, 0
    )
    assert {weight.dtype, *(m.dtype for m in moments.values())} == {tf.float32}
