"""The sublayers of a block against NumPy references."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers import sublayers
from albert_tf.layers.attention_mask import AttentionMask
from albert_tf.layers.attention_mask import key_bias
from albert_tf.layers.rematerialization import recompute
from albert_tf.layers.sublayers import SelfAttention


@pytest.fixture
def hidden():
    return np.random.default_rng(5).normal(size=(2, 7, 12)).astype("float32")


MASK = np.array([[1] * 7, [1] * 4 + [0] * 3])


def make(config, dtype="float32"):
    layer = SelfAttention(config, dtype=dtype, name="attention")
    layer.build()
    return layer


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
