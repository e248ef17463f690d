"""Mixed precision: close to float32, and finite where float16 is narrow."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("mixed_bfloat16", 0.15), ("mixed_float16", 0.02)]
)
@pytest.mark.parametrize("jit_compile", [None, True])
def test_close_to_float32(dtype, tolerance, jit_compile, tiny_config, tiny_features):
    exact = AlbertForPreTraining(tiny_config(num_hidden_layers=2))
    mixed = AlbertForPreTraining(tiny_config(num_hidden_layers=2), dtype=dtype)
    for variable, other in zip(
        mixed.trainable_variables, exact.trainable_variables, strict=True
    ):
        assert variable.dtype == "float32"
        variable.assign(other)
    tiny_features["input_mask"][1] = 0  # nothing but padding

    @tf.function(jit_compile=jit_compile)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = mixed(features)
            loss = tf.reduce_mean(outputs["masked_lm_logits"] ** 2)
        values = [v.value for v in mixed.albert.embeddings.trainable_variables]
        return outputs, tape.gradient(loss, values)

    outputs, gradients = step({k: tf.constant(v) for k, v in tiny_features.items()})
    assert outputs["masked_lm_logits"].dtype == tf.float32
    assert outputs["sentence_order_logits"].dtype == tf.float32
    expected = exact(tiny_features)
    for name in outputs:
        found = tf.cast(outputs[name], tf.float32)
        np.testing.assert_allclose(found, expected[name], atol=tolerance, rtol=0.05)
    assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)
