"""The encoder: shapes, masks, parameter sharing, mixed precision."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.fixture
def albert(tiny_config):
    return AlbertModel(tiny_config())


def test_shapes(albert, tiny_features):
    outputs = albert(tiny_features)
    assert outputs["sequence_output"].shape == (2, 7, 12)
    assert outputs["pooled_output"].shape == (2, 12)
    assert outputs["embedding_output"].shape == (2, 7, 6)
    assert [h.shape for h in outputs["hidden_states"]] == [(2, 7, 12)] * 4


def test_variables_exist_after_construction_in_a_fixed_order(tiny_config):
    first, second = AlbertModel(tiny_config()), AlbertModel(tiny_config())
    assert first.built
    paths = [v.path for v in first.trainable_variables]
    assert set(paths) == set(first.official_names())
    assert len(set(paths)) == len(paths)
    assert list(first.official_names().values()) == list(
        second.official_names().values()
    )


def test_mapping_is_absent_where_sizes_are_equal(tiny_config):
    config = tiny_config(embedding_size=12)
    names = AlbertModel(config).official_names().values()
    assert not any("embedding_hidden_mapping_in" in name for name in names)


def test_mapping_can_be_asked_for_where_sizes_are_equal(tiny_config):
    config = tiny_config(embedding_size=12, always_map_embeddings=True)
    names = AlbertModel(config).official_names().values()
    assert any("embedding_hidden_mapping_in" in name for name in names)


def test_mask_and_segments_may_be_absent(albert, tiny_features):
    ids = tiny_features["input_ids"]
    full = {
        "input_ids": ids,
        "input_mask": np.ones_like(ids),
        "segment_ids": np.zeros_like(ids),
    }
    np.testing.assert_array_equal(
        albert({"input_ids": ids})["sequence_output"], albert(full)["sequence_output"]
    )


def test_padding_does_not_reach_tokens(albert, tiny_features):
    changed = tiny_features["input_ids"].copy()
    changed[1, 5:] = 9
    before = albert(tiny_features)["sequence_output"]
    after = albert({**tiny_features, "input_ids": changed})["sequence_output"]
    np.testing.assert_array_equal(before[1, :5], after[1, :5])
    assert np.abs(before[1, 5:] - after[1, 5:]).max() > 0.01


def test_padding_to_another_length_changes_nothing(albert, tiny_features):
    short = {"input_ids": tiny_features["input_ids"][:, :5]}
    padded = {
        "input_ids": np.pad(short["input_ids"], ((0, 0), (0, 4))),
        "input_mask": np.pad(np.ones((2, 5), "int32"), ((0, 0), (0, 4))),
    }
    np.testing.assert_allclose(
        albert(padded)["sequence_output"][:, :5],
        albert(short)["sequence_output"],
        atol=1e-6,
    )


def test_too_long_an_input_is_refused(albert):
    with pytest.raises(UserError, match="17 tokens, but the model has only 16"):
        albert({"input_ids": np.zeros((1, 17), "int32")})


@pytest.mark.slow
def test_eager_graph_and_compiled_agree(albert, tiny_features):
    eager = albert(tiny_features)["sequence_output"]
    signature = [{k: tf.TensorSpec([None, None], "int32") for k in tiny_features}]
    graph = tf.function(albert, input_signature=signature)
    for _ in range(2):
        np.testing.assert_allclose(
            graph(tiny_features)["sequence_output"], eager, atol=1e-5
        )
        compiled = tf.function(albert, jit_compile=True)
        np.testing.assert_allclose(
            compiled(tiny_features)["sequence_output"], eager, atol=1e-5
        )
        tiny_features = {k: v[:, :5] for k, v in tiny_features.items()}
        places = tiny_features["masked_lm_positions"]
        tiny_features["masked_lm_positions"] = np.minimum(places, 4)
        eager = albert(tiny_features)["sequence_output"]


def test_symbolic_call(albert):
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("input_ids", "input_mask")
    }
    model = keras.Model(inputs, albert(inputs)["pooled_output"])
    assert model.output_shape == (None, 12)


def test_groups_and_inner_groups_run_in_order(tiny_config, tiny_features):
    config = tiny_config(num_hidden_layers=5, num_hidden_groups=2, inner_group_num=2)
    albert = AlbertModel(config)
    schedule = albert.transformer.layer_schedule
    assert [[a for a, _ in layer] for layer in schedule] == [
        ["0_0", "0_1"],
        ["0_0", "0_1"],
        ["0_0", "0_1"],
        ["1_0", "1_1"],
        ["1_0", "1_1"],
    ]
    assert len(albert(tiny_features)["hidden_states"]) == 10
    assert len(albert.official_names()) == 25 + 3 * 16


def test_gradient_of_shared_weights_is_the_sum_over_layers(tiny_config, tiny_features):
    shared = AlbertModel(tiny_config())
    untied = AlbertModel(tiny_config(parameter_sharing="none"))
    source = shared.official_variables()
    for name, variable in untied.official_variables().items():
        group = name.split("/")[3] if "group_" in name else "group_0"
        variable.assign(source[name.replace(group, "group_0", 1)])

    def gradient(model):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(tiny_features)["sequence_output"] ** 3)
        return tape.gradient(
            loss, {k: v.value for k, v in model.official_variables().items()}
        )

    shared_gradient, untied_gradient = gradient(shared), gradient(untied)
    name = "bert/encoder/transformer/group_{}/inner_group_0/attention_1/self/key/kernel"
    total = sum(untied_gradient[name.format(layer)] for layer in range(4))
    np.testing.assert_allclose(
        shared_gradient[name.format(0)], total, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    ("sharing", "attention", "feed_forward"),
    [("all", 2, 2), ("attention", 2, 4), ("ffn", 4, 2), ("none", 4, 4)],
)
def test_parameter_sharing(tiny_config, sharing, attention, feed_forward):
    config = tiny_config(num_hidden_groups=2, parameter_sharing=sharing)
    transformer = AlbertModel(config).transformer
    assert len(transformer.attention) == attention
    assert len(transformer.feed_forward) == feed_forward


def test_activation_reaches_the_function(tiny_config, tiny_features):
    outputs = {}
    weights = None
    for act in ("gelu", "gelu_erf", "relu", "tanh", "linear"):
        model = AlbertModel(tiny_config(hidden_act=act))
        weights = weights or model.get_weights()
        model.set_weights(weights)
        outputs[act] = model(tiny_features)["sequence_output"].numpy()
    difference = np.abs(outputs["gelu"] - outputs["gelu_erf"]).max()
    assert 1e-6 < difference < 1e-2
    for act in ("relu", "tanh", "linear"):
        assert np.abs(outputs["gelu"] - outputs[act]).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "tolerance", "jit_compile"),
    [
        ("mixed_bfloat16", 0.15, None),
        ("mixed_float16", 0.02, True),
        pytest.param("mixed_bfloat16", 0.15, True, marks=pytest.mark.nightly),
        pytest.param("mixed_float16", 0.02, None, marks=pytest.mark.nightly),
    ],
)
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
