"""LAMB, AdamW and Muon against NumPy transcriptions; their flags and schedules."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers import Muon
from albert_tf.optimizers import WarmupStableDecay
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.optimizers.muon import orthogonalised
from albert_tf.optimizers.rules import layer_decay
from albert_tf.optimizers.rules import layer_factors
from albert_tf.optimizers.rules import official_factors
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
    dense.bias.assign(np.ones(3))
    by_sign = AdamW(learning_rate=0.1, bias_correction=True, beta_1=0.0, beta_2=0.0)
    by_sign.apply([tf.ones([4, 3]), tf.ones([3])], dense.weights)
    np.testing.assert_allclose(dense.bias.numpy(), 0.9, rtol=2e-6)


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
    ones = tf.ones([2, 3, 4])  # as XLNet's kernels
    assert float(optimizers[0].trust_ratio(ones, 4 * ones)) == 0.25


@pytest.mark.parametrize(("weight", "gradient"), [(0.0, 1.0), (1.0, 0.0)])
def test_trust_ratio_is_one_where_a_norm_is_zero(weight, gradient):
    kernel = keras.Variable(np.full([2, 2], weight), name="kernel", dtype="float32")
    optimizer = LAMB(learning_rate=1.0, weight_decay_rate=0.0)
    optimizer.apply([tf.fill([2, 2], gradient)], [kernel])
    expected = weight - gradient * 0.1 / (np.sqrt(0.001) + 1e-6)
    np.testing.assert_allclose(kernel.numpy(), expected, rtol=1e-6)


def test_names_of_variables_decide_what_decays_in_official_paths_too():
    biases = [
        "masked_lm_head/output_bias",
        "bert/encoder/inner_group_0/LayerNorm_1/beta",
    ]
    assert all(rule_of(path).excluded for path in biases)
    others = ["classifier/output_weights", "unbiased_head/kernel", "head/temperature"]
    assert not any(rule_of(path).excluded for path in others)


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
    (momentum,) = optimizer.moments[0].values()
    optimizer.build(variables)  # again, which changes nothing
    assert optimizer.moments[0]["momentums"] is momentum
    names = [tuple(own) for own in optimizer.moments]
    adam = ("first_moments", "second_moments")
    assert names == [("momentums",)] * 3 + [adam] * 6
    line = optimizer.rules_table(variables)[-1]
    assert line.split()[:3] == ["3", "orthogonalised", "54"]
    expected = [1, 1, 0.5, RATIO * 0.25, *[RATIO] * 5]
    np.testing.assert_allclose(optimizer.factors, expected)


def test_each_flag_reaches_its_class():
    changes = {"optimizer": "muon", "weight_decay": 0.1, "lr_schedule": "wsd"}
    arguments = "momentum=0.9, cooldown=0.5,nesterov=false"
    flags = OptimizerFlags(learning_rate=0.02, optimizer_args=arguments, **changes)
    optimizer = flags.create(100, 10, start_warmup_step=5)
    found = optimizer.get_config()
    assert (found["momentum"], found["nesterov"]) == (0.9, False)
    assert found["weight_decay_rate"] == 0.1
    schedule = optimizer._learning_rate.get_config()
    assert schedule["cooldown"] == 0.5
    assert (schedule["num_warmup_steps"], schedule["start_warmup_step"]) == (10, 5)
    flags = OptimizerFlags(learning_rate=1.0, poly_power=2.0)
    assert float(flags.create(100, 0)._learning_rate(50)) == 0.25


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({}, "momentum=0.9", "no hyperparameter of lamb and polynomial"),
        ({}, "beta_2=high", "'beta_2=high' is not name=value"),
        ({}, 'bias_correction="false"', "is not name=value with a number, true or"),
        ({"poly_power": 2.0, "lr_schedule": "cosine"}, "", "'power' is no hyperpar"),
        ({"lr_schedule": "wsd"}, "cooldown=2", "cooldown=2: expected a share"),
    ],
)
def test_hyperparameters_that_do_not_fit(changes, arguments, message):
    with pytest.raises(UserError, match=message):
        OptimizerFlags(**changes, optimizer_args=arguments).create(10, 0)


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


@pytest.mark.parametrize(
    ("name", "decayed"),
    [
        ("polynomial", [0.8, 0.4, 0.0, 0.0]),
        ("cosine", 0.5 + 0.5 * np.cos(np.pi * np.array([0.2, 0.6, 1.0, 1.0]))),
        ("constant", [1.0] * 4),
        ("wsd", [1.0, 1.0, 0.0, 0.0]),
    ],
)
def test_schedules_share_the_warmup_and_differ_in_the_decay(name, decayed):
    optimizer = create_optimizer("lamb", 2.0, 100, 10, lr_schedule=name)
    schedule = optimizer._learning_rate
    found = rates(schedule, 0, 5, 9, 20, 60, 100, 1000)
    expected = 2.0 * np.array([0.0, 0.5, 0.9, *decayed])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert found.min() >= 0
    assert float(schedule.from_config(schedule.get_config())(60)) == found[4]
    if name == "wsd":  # it cools down by the root of what is done
        found = rates(WarmupStableDecay(2.0, 100, cooldown=0.4), 64, 70, 90)
        expected = [2.0 * (1 - ((t - 60) / 40) ** 0.5) for t in (64, 70, 90)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert rates(WarmupStableDecay(2.0, 100, cooldown=1), 25).tolist() == [1.0]
        without = WarmupStableDecay(2.0, 100, cooldown=0)
        assert rates(without, 0, 100, 1000).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "warmup", "message"),
    [
        ("cosine", 64, "step 64 of 100, where the rate jumps to 28.7% of its peak"),
        ("wsd", 95, "rate jumps to 13.4% of its peak: --lr_schedule=wsd counts from"),
        ("polynomial", 51, "jumps to 49.0%"),
        ("polynomial", 50, None),
        ("cosine", 40, None),
        ("wsd", 80, None),
        ("constant", 99, None),
    ],
)
def test_a_jump_after_a_long_warmup_is_told(name, warmup, message, caplog):
    create_optimizer("adamw", 0.5, 100, warmup, lr_schedule=name)
    assert (message in caplog.text) if message else not caplog.text


# The top set of parameters is the first power.
_INNER = {"0_0": 4, "0_1": 3, "1_0": 2, "1_1": 1}
_UNSHARED = {"parameter_sharing": "none", "num_hidden_layers": 2}
_SOME_SHARED = {"parameter_sharing": "attention", "num_hidden_layers": 2}


@pytest.mark.parametrize(
    ("changes", "attention", "feed_forward"),
    [
        ({}, {"0_0": 1}, {"0_0": 1}),
        ({"num_hidden_groups": 2, "inner_group_num": 2}, _INNER, _INNER),
        (_UNSHARED, {"0_0": 2, "1_0": 1}, {"0_0": 2, "1_0": 1}),
        # The second layer uses the attention of the first, too.
        (_SOME_SHARED, {"0_0": 1}, {"0_0": 2, "1_0": 1}),
    ],
)
def test_factors_are_powers_by_depth(tiny_config, changes, attention, feed_forward):
    powers = {f"attention_{name}": power for name, power in attention.items()}
    powers |= {f"feed_forward_{name}": power for name, power in feed_forward.items()}
    first = max(powers.values()) + 1
    powers |= {"embeddings": first, "embedding_mapping": first}
    factors = layer_factors(tiny_config(**changes), 0.5)
    assert factors == {name: 0.5**power for name, power in powers.items()}


@pytest.mark.parametrize("optimizer_class", [LAMB, AdamW])
def test_updates_are_those_without_decay_times_the_factor(optimizer_class):
    factors = {"attention_0_0": 0.5, "embeddings": 0.25}
    paths = ("albert/attention_0_0/kernel", "embeddings/word_embeddings", "head/kernel")
    found = []
    for own in ({}, factors):
        variables = [keras.Variable(np.eye(2), name="v") for _ in paths]
        for variable, path in zip(variables, paths, strict=True):
            variable._path = path
        optimizer = optimizer_class(1e-2, learning_rate_factors=own)
        optimizer.apply([tf.constant([[1.0, 2.0], [3.0, 4.0]])] * 3, variables)
        found.append([np.eye(2) - np.array(v) for v in variables])
    for plain, decayed, factor in zip(*found, (0.5, 0.25, 1.0), strict=True):
        np.testing.assert_allclose(decayed, factor * plain, rtol=1e-3)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.learning_rate_factors == factors


def test_the_official_rule_scales_gradients(tiny_config):
    """`get_train_op` in model_utils.py: layer l of L by decay ** (L - 1 - l).

    A first step without bias correction is 0.1 g / (sqrt(0.001) |g| + epsilon): with
    gradients so small that the epsilon counts, it tells their factor.
    """
    config = tiny_config(parameter_sharing="none", num_hidden_layers=3)
    expected = {
        f"{kind}_{layer}_0": 0.5 ** (2 - layer)
        for layer in range(3)
        for kind in ("attention", "feed_forward")
    }
    assert official_factors(config, 0.5) == expected
    model = AlbertForSequenceClassification(config, 2)
    variables = [v for v in model.trainable_variables if v.path.endswith("kernel")]
    arguments = layer_decay(config, 0.5, "gradients")
    optimizer = AdamW(1e-2, weight_decay_rate=0.0, **arguments)
    starts = [v.numpy() for v in variables]
    random = np.random.default_rng(0)
    drawn = [random.normal(0, 1e-6, v.shape) for v in starts]
    optimizer.apply([tf.constant(g, tf.float32) for g in drawn], variables)
    seen = set()
    for gradient, start, variable in zip(drawn, starts, variables, strict=True):
        layers = (f for part, f in expected.items() if f"/{part}/" in variable.path)
        factor = next(layers, 1.0)
        seen.add(factor)
        scaled = factor * gradient
        step = -1e-2 * 0.1 * scaled / (0.001**0.5 * np.abs(scaled) + 1e-6)
        np.testing.assert_allclose(variable - start, step, rtol=1e-3, atol=1e-7)
    assert seen == {1.0, 0.5, 0.25}
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.gradient_factors == arguments["gradient_factors"]
