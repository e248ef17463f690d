"""LAMB, AdamW and Muon against NumPy transcriptions of their authors' formulas."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers import Muon
from albert_tf.optimizers.muon import orthogonalised
from albert_tf.optimizers.rules import rule_of

RATE, RATIO, DECAY = 0.02, 0.1, 0.01


def drawn_gradients(variables, steps):
    random = np.random.default_rng(1)
    return [random.normal(size=(steps, *v.shape)) for v in variables]


def take_steps(optimizer, gradients, variables):
    for of_step in zip(*gradients, strict=True):
        optimizer.apply([tf.constant(g, tf.float32) for g in of_step], variables)


def adam_steps(weight, gradients, adapt, decay, rate=RATE, corrects=False):
    """Takes the official steps in float64; what does not decay does not adapt."""
    weight, m, v = weight.astype(np.float64), 0.0, 0.0
    for t, gradient in enumerate(gradients, 1):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        bias = (1 - 0.9**t, 1 - 0.999**t) if corrects else (1, 1)
        update = m / bias[0] / (np.sqrt(v / bias[1]) + 1e-6) + decay * weight
        if adapt and decay:
            norms = np.linalg.norm(weight), np.linalg.norm(update)
            update *= norms[0] / norms[1] if min(norms) > 0 else 1.0
        weight = weight - rate * update
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
    take_steps(optimizer_class(RATE), gradients, dense.weights)
    for i, variable in enumerate(dense.weights):
        settings = optimizer_class is LAMB, 0.0 if i == 1 else DECAY
        expected = adam_steps(starts[i], gradients[i], *settings)
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
    optimizers = [kind(learning_rate=RATE) for kind in (LAMB, AdamW)]
    for optimizer in optimizers:
        optimizer.build(dense.weights)
    for index, variable in enumerate(dense.weights):
        weight, gradient, m = random.normal(size=(3, *variable.shape)).astype("float32")
        moments = {"first_moments": m, "second_moments": np.square(m)}
        slot = (index, gradient, weight, moments)
        new = [own.new_values(*slot, RATE, 0)[0] for own in optimizers]
        changes = [value - weight for value in new]
        ratios = [own.applied_trust_ratio(*slot, 0) for own in optimizers]
        np.testing.assert_allclose(changes[0], ratios[0] * changes[1], rtol=1e-4)
        assert (ratios[0] == 1.0) == (index == 1)  # the bias
        assert ratios[1] == 1.0


@pytest.mark.parametrize(("weight", "gradient"), [(0.0, 1.0), (1.0, 0.0)])
def test_trust_ratio_is_one_where_a_norm_is_zero(weight, gradient):
    kernel = keras.Variable(np.full([2, 2], weight), name="kernel", dtype="float32")
    optimizer = LAMB(learning_rate=1.0, weight_decay_rate=0.0)
    optimizer.apply([tf.fill([2, 2], gradient)], [kernel])
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


def test_a_gradient_in_bfloat16_updates_float32(dense):
    optimizer = LAMB()
    optimizer.build(dense.weights)
    gradient, ones = tf.ones([4, 3], tf.bfloat16), tf.ones([4, 3])
    moments = dict.fromkeys(optimizer.moment_names, ones)
    weight, moments = optimizer.new_values(0, gradient, ones, moments, 0.1, 0)
    assert {weight.dtype, *(m.dtype for m in moments.values())} == {tf.float32}


def newton_schulz(matrix):
    """Iterates as the author's `zeropower_via_newtonschulz5`, in float64."""
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(5):
        squared = x @ x.T
        x = 3.4445 * x + (-4.7750 * squared + 2.0315 * squared @ squared) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def muon_steps(weight, gradients):
    shape = weight.shape
    weight, momentum = weight.reshape(shape[0], -1).astype(np.float64), 0.0
    for gradient in gradients:
        gradient = gradient.reshape(weight.shape)
        momentum = 0.95 * momentum + 0.05 * gradient
        update = newton_schulz(0.05 * gradient + 0.95 * momentum)
        update *= max(1.0, weight.shape[1] / weight.shape[0]) ** 0.5
        weight = weight - RATE * (update + DECAY * weight)
    return weight.reshape(shape)


@pytest.fixture
def variables():
    """Wide, tall, of three dimensions; then what AdamW steps: 4 decay, 2 do not."""
    random = np.random.default_rng(0)
    paths = {
        "t/feed_forward_0_0/intermediate/kernel": (3, 5),
        "t/feed_forward_0_0/output_dense/kernel": (5, 3),
        "stack/attention_1_0/q_kernel": (4, 2, 3),
        "albert/embeddings/word_embeddings": (7, 3),
        "albert/embedding_mapping/kernel": (3, 4),
        "classifier/output_weights": (2, 4),
        "albert/pooler/kernel": (4, 4),
        "t/attention_0_0/query/bias": (4,),
        "t/attention_0_0/layer_norm/gamma": (4,),
    }
    found = []
    for path, shape in paths.items():
        *scopes, name = path.split("/")
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(keras.name_scope(scope))
            value = random.normal(size=shape).astype("float32")
            found.append(keras.Variable(value, name=name))
    return found


def test_ten_steps_of_muon_equal_the_formulas(variables):
    gradients, starts = drawn_gradients(variables, 10), [v.numpy() for v in variables]
    take_steps(Muon(learning_rate=RATE), gradients, variables)
    for i, variable in enumerate(variables):
        decay = DECAY if i < 7 else 0.0
        expected = (
            muon_steps(starts[i], gradients[i])
            if i < 3
            else adam_steps(starts[i], gradients[i], False, decay, RATE * RATIO, True)
        )
        np.testing.assert_allclose(variable.numpy(), expected, rtol=2e-5, atol=2e-6)
    assert not np.any(orthogonalised(tf.zeros([3, 2]), 5))


_CHANGES = {
    "momentum": 0.5,
    "nesterov": False,
    "ns_steps": 2,
    "adam_lr_ratio": 0.5,
    "bias_correction": False,
    "weight_decay_rate": 0.0,
}


@pytest.mark.parametrize("name", _CHANGES)
def test_every_argument_counts_and_survives_its_config(variables, name):
    gradients, starts = drawn_gradients(variables, 2), [v.numpy() for v in variables]
    changed, found = Muon(RATE, **{name: _CHANGES[name]}), []
    for optimizer in (Muon(RATE), changed, Muon.from_config(changed.get_config())):
        for variable, start in zip(variables, starts, strict=True):
            variable.assign(start)
        take_steps(optimizer, gradients, variables)
        found.append(np.concatenate([v.numpy().ravel() for v in variables]))
    assert np.abs(found[0] - found[1]).max() > 1e-5
    np.testing.assert_array_equal(found[1], found[2])


def test_factors_of_layers_and_the_ratio_multiply(variables):
    optimizer = Muon(learning_rate_factors={"attention_1_0": 0.5, "embeddings": 0.25})
    optimizer.build(variables)
    names = [tuple(own) for own in optimizer.moments]
    adam = ("first_moments", "second_moments")
    assert names == [("momentums",)] * 3 + [adam] * 6
    line = optimizer.rules_table(variables)[-1]
    assert line.split()[:3] == ["3", "orthogonalised", "54"]
    expected = [1, 1, 0.5, RATIO * 0.25, *[RATIO] * 5]
    np.testing.assert_allclose(optimizer.factors, expected)
