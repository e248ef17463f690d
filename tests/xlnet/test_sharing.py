"""Shared layers and factorised tables are XLNet with equal weights."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.xlnet.family import unshared
from albert_tf.xlnet.model import XLNetLMHeadModel
from albert_tf.xlnet.names import MAPPING
from albert_tf.xlnet.names import TABLE


def unshared_model(model):
    """XLNet itself, with the weights of a model that shares."""
    arrays = {n: np.array(v) for n, v in model.official_variables().items()}
    config, tensors = unshared(model.config, arrays)
    plain = XLNetLMHeadModel(config)
    variables = plain.official_variables()
    assert variables.keys() == tensors.keys()
    for name, tensor in tensors.items():
        variables[name].assign(tensor)
    return plain


def gradients(model, features):
    with tf.GradientTape() as tape:
        logits = model(features)["logits"]
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[..., 3])
    variables = model.official_variables()
    values = [variable.value for variable in variables.values()]
    found = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, values)]
    return logits, dict(zip(variables, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"parameter_sharing": "all", "num_hidden_groups": 2, "inner_group_num": 2},
        {"parameter_sharing": "attention"},
        {"parameter_sharing": "ffn", "untie_r": False},
    ],
)
def test_shared_layers_are_equal_layers(
    changes, xlnet_config, xlnet_features, randomised
):
    config = xlnet_config(n_layer=3, mem_len=4, **changes)
    shared = randomised(XLNetLMHeadModel(config))
    plain = unshared_model(shared)
    random = np.random.default_rng(2)
    memories = random.normal(size=(2, config.blocks, 4, 8)).astype("float32")
    features = {**xlnet_features, "memories": memories}
    logits, ours = gradients(shared, features)
    expected, theirs = gradients(plain, features)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    # What a set of parameters became, tells whose gradients are its own.
    for name, gradient in ours.items():
        total = np.zeros_like(gradient)
        for i in range(gradient.size):
            one = np.zeros(gradient.size, "float32")
            one[i] = 1
            tensors = {name: one.reshape(gradient.shape)}
            _, copies = unshared(config, tensors)
            total.flat[i] = sum((copies[n] * theirs[n]).sum() for n in copies)
        np.testing.assert_allclose(gradient, total, atol=2e-4, err_msg=name)


def test_a_factorised_table_is_the_product(xlnet_config, xlnet_features, randomised):
    model = randomised(XLNetLMHeadModel(xlnet_config(embedding_size=5)))
    plain = unshared_model(model)
    variables = model.official_variables()
    product = variables[TABLE].numpy() @ variables[MAPPING].numpy()
    np.testing.assert_allclose(plain.official_variables()[TABLE], product, atol=1e-6)
    logits, ours = gradients(model, xlnet_features)
    expected, theirs = gradients(plain, xlnet_features)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    found = theirs[TABLE] @ variables[MAPPING].numpy().T
    np.testing.assert_allclose(ours[TABLE], found, atol=1e-4)
    found = variables[TABLE].numpy().T @ theirs[TABLE]
    np.testing.assert_allclose(ours[MAPPING], found, atol=1e-4)


@pytest.mark.parametrize("embedding_size", [None, 8])
def test_equal_widths_need_no_mapping(embedding_size, xlnet_config):
    model = XLNetLMHeadModel(xlnet_config(embedding_size=embedding_size))
    assert MAPPING not in model.official_variables()
