"""The pretraining model against the official code, and its masked LM alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.fixture(scope="module", params=["official_tf1_lamb", "official_tf1_adamw"])
def official(request, shared):
    """The model, inputs and outputs of one official checkpoint."""
    folder = shared(f"fixtures/{request.param}")
    config = albert_tf.AlbertConfig.from_json_file(folder / "albert_config.json")
    model = AlbertForPreTraining(config)
    albert_tf.load_tf1_checkpoint(model, folder / "model.ckpt-0")
    inputs = dict(np.load(folder / "inputs.npz"))
    return model, inputs, dict(np.load(folder / "expected.npz"))


@pytest.mark.parametrize(
    ("official", "jit_compile"),
    [
        ("official_tf1_adamw", False),
        ("official_tf1_lamb", False),
        pytest.param("official_tf1_lamb", True, marks=pytest.mark.slow),
    ],
    indirect=["official"],
)
def test_outputs_equal_the_official_ones(official, jit_compile):
    model, inputs, expected = official
    function = tf.function(model, jit_compile=True) if jit_compile else model
    outputs = function(inputs)
    masked_lm = tf.nn.log_softmax(outputs["masked_lm_logits"])
    sentence_order = tf.nn.log_softmax(outputs["sentence_order_logits"])
    for name, found in (
        ("sequence_output", outputs["sequence_output"]),
        ("pooled_output", outputs["pooled_output"]),
        ("mlm_log_probs", tf.reshape(masked_lm, (-1, masked_lm.shape[-1]))),
        ("sop_log_probs", sentence_order),
    ):
        np.testing.assert_allclose(found, expected[name], rtol=0, atol=1e-5)


def test_every_layer_equals_the_official_one(official):
    model, inputs, expected = official
    outputs = model.albert(inputs)
    np.testing.assert_allclose(
        outputs["embedding_output"], expected["embedding_output"], rtol=0, atol=1e-5
    )
    for i, hidden in enumerate(outputs["hidden_states"]):
        np.testing.assert_allclose(hidden, expected[f"layer_{i}"], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_masked_lm_has_the_same_logits(tiny_config, tiny_features, tmp_path):
    keras.utils.set_random_seed(1)  # some weights magnify rounding
    pretrained = AlbertForPreTraining(tiny_config())
    pretrained.save_pretrained(tmp_path)
    model = AlbertForMaskedLM.from_pretrained(tmp_path)
    expected = pretrained(tiny_features)["masked_lm_logits"]
    np.testing.assert_allclose(model(tiny_features), expected, atol=1e-6)
    positions = tiny_features.pop("masked_lm_positions")
    everywhere = tf.gather(model(tiny_features), positions, batch_dims=1)
    np.testing.assert_allclose(everywhere, expected, atol=1e-6)
    # The best of the first 30 pieces.
    shares = tf.nn.softmax(everywhere[..., :30]).numpy()
    tiny_features["masked_lm_positions"] = positions
    for own in (model, pretrained):
        probabilities, ids = own.best_tokens(tiny_features, 3, vocab_size=30)
        np.testing.assert_array_equal(ids, np.argsort(-shares, -1)[..., :3])
        best = np.sort(shares, -1)[..., ::-1][..., :3]
        np.testing.assert_allclose(probabilities, best, atol=1e-6)
