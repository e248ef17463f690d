"""The encoder: its features, several texts a row, precision, attentions, dropout."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.models.pretraining import AlbertForPreTraining

PAIR_IDS = np.array([[1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 0, 0]], "int32")
PAIRS = [slice(0, 5), slice(5, 8), slice(8, 12)]


def test_mask_and_segments_may_be_absent(tiny_config, tiny_features):
    albert = AlbertModel(tiny_config())
    ids = tiny_features["input_ids"]
    full = {"input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    expected = albert({"input_ids": ids, **full})["sequence_output"]
    found = albert({"input_ids": ids})["sequence_output"]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(UserError, match="17 tokens, but the model has only 16"):
        albert({"input_ids": np.zeros((1, 17), "int32")})


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_each_text_of_a_row_is_computed_as_if_alone(policy, tiny_config):
    random = np.random.default_rng(5)
    row = {
        "input_ids": random.integers(0, 37, (1, 14), dtype="int32"),
        "input_mask": (PAIR_IDS > 0).astype("int32"),
        "segment_ids": random.integers(0, 2, (1, 14), dtype="int32"),
        "pair_ids": PAIR_IDS,
        "cls_positions": np.array([[0, 5, 8, 0]], "int32"),
    }
    model = AlbertForPreTraining(tiny_config(), dtype=policy)
    packed = model(row)
    atol = 1e-5 if policy == "float32" else 0.05
    for k, pair in enumerate(PAIRS):
        names = ("input_ids", "segment_ids")
        alone = model({name: row[name][:, pair] for name in names})
        for name, found in (
            ("sequence_output", packed["sequence_output"][:, pair]),
            ("pooled_output", packed["pooled_output"][:, k]),
            ("sentence_order_logits", packed["sentence_order_logits"][:, k]),
        ):
            expected = np.float32(alone[name])
            np.testing.assert_allclose(np.float32(found), expected, rtol=0, atol=atol)


def test_groups_and_inner_groups_run_in_order(tiny_config, tiny_features):
    albert = AlbertModel(tiny_config(num_hidden_groups=3, inner_group_num=2))
    schedule = albert.transformer.layer_schedule
    assert [[a for a, _ in layer] for layer in schedule] == [
        ["0_0", "0_1"],
        ["0_0", "0_1"],
        ["1_0", "1_1"],
        ["2_0", "2_1"],
    ]
    assert len(albert(tiny_features)["hidden_states"]) == 8
    names = albert.official_variables()
    assert len(names) == 25 + 5 * 16
    assert any("/group_2/inner_group_1/" in name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "tolerance", "jit_compile"),
    [("mixed_bfloat16", 0.15, None), ("mixed_float16", 0.02, True)],
)
def test_close_to_float32(dtype, tolerance, jit_compile, tiny_config, tiny_features):
    config = tiny_config(num_hidden_layers=1)
    exact = AlbertForPreTraining(config)
    mixed = AlbertForPreTraining(config, dtype=dtype)
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


# Of transformers 5 with `attn_implementation="eager"`: layer and row i, head i, token 3
# to the first four tokens.
_ATTENTIONS = [
    [0.0528611, 0.05240718, 0.05264907, 0.05290578],
    [0.03459954, 0.03716332, 0.03447837, 0.03855469],
    [0.03239319, 0.03526827, 0.03745412, 0.03399544],
]


def test_attentions_equal_those_of_hugging_face(shared):
    folder = shared("fixtures/huggingface_pretraining")
    model = AlbertModel.from_pretrained(folder, return_attentions=True)
    inputs = np.load(folder / "inputs.npz")
    names = ("input_ids", "input_mask", "segment_ids")
    attentions = model({name: inputs[name] for name in names})["attentions"]
    found = [layer[i, i, 3, :4] for i, layer in enumerate(attentions)]
    np.testing.assert_allclose(found, _ATTENTIONS, atol=1e-6)


SEED = tf.constant([11, 5], tf.int32)


def sequence(model, features, **kwargs):
    return np.array(model(features, **kwargs)["sequence_output"])


@pytest.mark.parametrize(
    "field", ["hidden_dropout_prob", "attention_probs_dropout_prob"]
)
def test_each_rate_acts_by_the_seed_and_in_training_alone(
    field, tiny_config, tiny_features
):
    albert = AlbertModel(tiny_config(**{"num_hidden_layers": 1, field: 0.3}))
    first, again, other = (
        sequence(albert, tiny_features, training=True, dropout_seed=seed)
        for seed in (SEED, SEED, SEED + 1)
    )
    np.testing.assert_array_equal(first, again)
    plain = sequence(albert, tiny_features)
    np.testing.assert_array_equal(
        sequence(albert, tiny_features, dropout_seed=SEED), plain
    )
    one, two = (sequence(albert, tiny_features, training=True) for _ in range(2))
    for found, expected in ((first, other), (first, plain), (one, two)):
        assert np.abs(found - expected).max() > 0.1


@pytest.mark.parametrize(
    "model_class", [AlbertForSequenceClassification, AlbertForTokenClassification]
)
def test_classifier_dropout(model_class, tiny_config, tiny_features):
    del tiny_features["masked_lm_positions"]
    for rate, same in ((0.1, False), (0.0, True)):
        model = model_class(
            tiny_config(num_hidden_layers=1), num_labels=3, classifier_dropout_prob=rate
        )
        plain = model(tiny_features)
        dropped = model(tiny_features, training=True, dropout_seed=SEED)
        assert np.array_equal(plain, dropped) is same
