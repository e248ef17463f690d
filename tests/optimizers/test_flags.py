"""The flags of the optimizer: its arguments, its schedule, its rate by depth."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.optimizers import LAMB
from albert_tf.optimizers import AdamW
from albert_tf.optimizers import WarmupStableDecay
from albert_tf.optimizers import create_optimizer
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.optimizers.rules import layer_decay
from albert_tf.optimizers.rules import layer_factors
from albert_tf.optimizers.rules import official_factors


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
