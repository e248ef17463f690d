"""The sublayers of a block against NumPy references."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers import sublayers
from albert_tf.layers.attention_mask import AttentionMask
from albert_tf.layers.attention_mask import key_bias
from albert_tf.layers.rematerialization import recompute
from albert_tf.layers.sublayers import FeedForward
from albert_tf.layers.sublayers import SelfAttention


def reference(layer, hidden, mask):
    """The official `attention_layer` with residual and layer norm, in float64."""
    weights = {v.path.split("/", 1)[1]: np.float64(v.numpy()) for v in layer.weights}
    batch, tokens, _ = hidden.shape

    def project(name, inputs):
        return inputs @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    def heads(name):
        return project(name, hidden).reshape(batch, tokens, 3, 4).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(4)
    scores += (1 - mask[:, None, None, :]) * -10000.0
    probabilities = np.exp(scores - scores.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    context = (probabilities @ heads("value")).transpose(0, 2, 1, 3)
    output = project("output_dense", context.reshape(batch, tokens, 12)) + hidden
    output -= output.mean(-1, keepdims=True)
    return output / np.sqrt((output**2).mean(-1, keepdims=True) + 1e-12)


@pytest.fixture
def hidden():
    return np.random.default_rng(5).normal(size=(2, 7, 12)).astype("float32")


MASK = np.array([[1] * 7, [1] * 4 + [0] * 3])


def make(config, dtype="float32"):
    layer = SelfAttention(config, dtype=dtype, name="attention")
    layer.build()
    return layer


def test_attention_equals_the_official_formula(tiny_config, hidden):
    layer = make(tiny_config())
    for variable in (layer.query.bias, layer.key.bias, layer.value.bias):
        variable.assign(np.linspace(-1, 1, 12))
    found = layer(hidden, attention_mask=AttentionMask(key_bias(MASK)))
    np.testing.assert_allclose(found, reference(layer, hidden, MASK), atol=2e-6)


def test_padded_keys_get_no_weight_and_padded_queries_are_computed(tiny_config, hidden):
    layer = make(tiny_config())
    attention_mask = AttentionMask(key_bias(MASK))
    assert attention_mask.bias.shape == (2, 1, 1, 7)
    changed = hidden.copy()
    changed[1, 5] = 3.0
    before, after = (
        layer(hidden, attention_mask=attention_mask),
        layer(changed, attention_mask=attention_mask),
    )
    kept = [0, 1, 2, 3, 4, 6]
    np.testing.assert_array_equal(before.numpy()[1, kept], after.numpy()[1, kept])
    assert np.abs(before[1, 5] - after[1, 5]).max() > 0.1


def test_a_bias_by_head_is_each_heads_own(tiny_config, hidden):
    distances = np.abs(np.arange(7)[:, None] - np.arange(7))
    slopes = np.array([0.5, 1.0, 2.0])  # ALiBi (Press et al., arXiv 2108.12409)
    bias = -slopes[None, :, None, None] * distances  # [1, heads, T, T]
    attention_mask = AttentionMask(tf.constant(bias, "float32"))
    layer = make(tiny_config())
    whole = layer(hidden, attention_mask=attention_mask)
    picked = attention_mask.of_rows(lambda rows: tf.gather(rows, [4, 2], axis=1))
    found = layer(hidden, attention_mask=picked)
    np.testing.assert_allclose(found, tf.gather(whole, [4, 2], axis=1), atol=1e-6)
    found = layer(hidden, attention_mask=attention_mask, recompute=recompute)
    np.testing.assert_allclose(found, whole, atol=1e-6)
    found = layer(hidden[1:], attention_mask=attention_mask.of_examples(np.array([1])))
    np.testing.assert_allclose(found, whole[1:], atol=1e-6)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_stays_finite(dtype, tiny_config, hidden):
    layer = make(tiny_config(), dtype)
    inputs = tf.cast(100 * hidden, layer.compute_dtype)
    outputs = layer(inputs, attention_mask=AttentionMask(key_bias(0 * MASK)))
    assert outputs.dtype == layer.compute_dtype
    assert np.isfinite(tf.cast(outputs, "float32")).all()


@pytest.fixture
def one_kernel(monkeypatch):
    """Lets attention believe in a GPU; lists the calls of Keras' operation."""
    calls = []
    attend = sublayers.ops.dot_product_attention

    def on_cpu(*inputs, flash_attention, **kwargs):
        calls.append(flash_attention)
        return attend(*inputs, **kwargs)

    monkeypatch.setattr(sublayers, "_is_on_jax_and_gpu", lambda: True)
    monkeypatch.setattr(sublayers.ops, "dot_product_attention", on_cpu)
    return calls


def test_one_kernel_on_a_gpu_gives_the_same_numbers(
    tiny_config, one_kernel, monkeypatch
):
    config = tiny_config(hidden_size=16, num_attention_heads=2)
    layer = make(config, "mixed_bfloat16")
    hidden = np.random.default_rng(5).normal(size=(2, 6, 16))
    hidden = tf.cast(hidden, "bfloat16")
    attention_mask = AttentionMask(key_bias(MASK[:, :6]))
    found = tf.cast(layer(hidden, attention_mask=attention_mask), "float32")
    assert one_kernel == [True]
    monkeypatch.setattr(sublayers, "_is_on_jax_and_gpu", lambda: False)
    expected = tf.cast(layer(hidden, attention_mask=attention_mask), "float32")
    assert one_kernel == [True]
    np.testing.assert_allclose(found, expected, atol=0.02)  # bfloat16 near 2


@pytest.mark.parametrize(
    ("dtype", "tokens", "width", "seed"),
    [
        ("float32", 6, 16, None),
        ("mixed_bfloat16", 7, 16, None),  # an odd number of tokens
        ("mixed_bfloat16", 6, 12, None),  # heads of 6
        ("mixed_bfloat16", 6, 16, [1, 2]),  # dropout
    ],
)
def test_one_kernel_is_left_where_it_cannot_compute(
    dtype, tokens, width, seed, tiny_config, one_kernel
):
    config = tiny_config(
        hidden_size=width, num_attention_heads=2, attention_probs_dropout_prob=0.1
    )
    layer = make(config, dtype)
    hidden = tf.zeros((2, tokens, width), layer.compute_dtype)
    layer(hidden, attention_mask=AttentionMask(key_bias(MASK[:, :tokens])), seed=seed)
    assert one_kernel == []


def test_feed_forward_equals_the_official_formula(tiny_config):
    config = tiny_config(hidden_act="relu")
    layer = FeedForward(config)
    layer.build()
    random = np.random.default_rng(2)
    for variable in (layer.intermediate.bias, layer.output_dense.bias):
        variable.assign(random.normal(size=variable.shape))
    hidden = random.normal(size=(2, 5, config.hidden_size)).astype("float32")
    inner = hidden @ np.array(layer.intermediate.kernel)
    inner = np.maximum(inner + np.array(layer.intermediate.bias), 0)
    expected = inner @ np.array(layer.output_dense.kernel)
    expected += np.array(layer.output_dense.bias) + hidden
    expected -= expected.mean(-1, keepdims=True)
    expected /= np.sqrt((expected**2).mean(-1, keepdims=True))
    np.testing.assert_allclose(layer(hidden), expected, atol=1e-5)
