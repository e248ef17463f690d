"""The model: against NumPy, its memory, its options, and its refusals."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.xlnet.heads import XLNetForSequenceClassification
from albert_tf.xlnet.model import XLNetLMHeadModel
from albert_tf.xlnet.model import XLNetModel
from tests.xlnet import numpy_xlnet

_SEED = np.array([3, 7], "int32")


def without(features, *names):
    return {name: value for name, value in features.items() if name not in names}


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"mem_len": 7, "reuse_len": 4}, ()),
        ({"mem_len": 3, "clamp_len": 2, "ff_activation": "gelu_erf"}, ("input_mask",)),
        ({"mem_len": 9, "untie_r": False, "ff_activation": "relu"}, ("perm_mask",)),
        ({"mem_len": 2, "reuse_len": 9, "bi_data": True}, ("segment_ids",)),
        ({"mem_len": 4, "bi_data": True}, ("input_mask", "perm_mask")),
    ],
)
def test_both_streams_and_memories_are_the_formulas(
    changes, absent, xlnet_config, xlnet_features, randomised
):
    config = xlnet_config(**changes)
    model = randomised(XLNetModel(config))
    features = without(xlnet_features, *absent)
    turned = (False, config.bi_data)
    for _ in range(3):
        outputs = model(features)
        content, queries, memories = numpy_xlnet.run(model, features, turned)
        found = tf.stack([outputs["embedding_output"], *outputs["hidden_states"]], 1)
        np.testing.assert_allclose(found, content, atol=1e-5)
        found = tf.stack(outputs["query_hidden_states"], 1)
        np.testing.assert_allclose(found, queries[:, 1:], atol=1e-5)
        np.testing.assert_allclose(outputs["memories"], memories, atol=1e-5)
        features = {**features, "memories": outputs["memories"]}


def test_a_feature_says_which_rows_are_reversed(
    xlnet_config, xlnet_features, randomised
):
    model = randomised(XLNetModel(xlnet_config(bi_data=True)))
    features = {**xlnet_features, "reversed_rows": np.array([1, 0])}
    expected = numpy_xlnet.run(model, xlnet_features, (True, False))[1]
    found = model(features)["query_hidden_states"]
    np.testing.assert_allclose(tf.stack(found, 1), expected[:, 1:], atol=1e-5)


def test_heads_get_the_same_numbers(xlnet_config, xlnet_features, randomised):
    model = randomised(XLNetModel(xlnet_config(mem_len=4)))
    features = {**xlnet_features, "memories": model.first_memories(2)}
    whole, part = model(features), model(features, heads_only=True)
    assert set(part) == {"query_output", "memories"}
    for name in part:
        np.testing.assert_allclose(part[name], whole[name], atol=1e-6)
    alone = without(xlnet_features, "target_positions")
    last = model(alone, heads_only=True)["last_output"]
    whole = model(alone)["sequence_output"]
    np.testing.assert_allclose(last, whole[:, -1], atol=1e-6)


def test_memory_has_no_gradient_and_begins_with_zeros(
    xlnet_config, xlnet_features, randomised
):
    model = randomised(XLNetLMHeadModel(xlnet_config(mem_len=4)))
    first = model.transformer.first_memories(2)
    assert first.shape == (2, 2, 4, 8) and not np.any(first)
    table = model.transformer.embeddings.word_embeddings.value
    with tf.GradientTape() as tape:
        outputs = model({**xlnet_features, "memories": first})
        total = tf.reduce_sum(outputs["memories"])
    assert tape.gradient(total, table) is None
    # Zeros are seen, where nothing is not.
    none = model(xlnet_features)["logits"]
    assert np.abs(outputs["logits"] - none).max() > 0.1


def loss_and_gradients(model, features, seed):
    with tf.GradientTape() as tape:
        logits = model(features, training=True, dropout_seed=seed)["logits"]
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[..., 3])
    variables = [variable.value for variable in model.trainable_variables]
    return loss, [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["depth_loop", "rematerialize"])
def test_options_of_execution_change_no_number(
    option, xlnet_config, xlnet_features, randomised
):
    memory = {} if option == "depth_loop" else {"mem_len": 4}
    config = xlnet_config(parameter_sharing="all", n_layer=3, **memory)
    memories = np.ones((2, 3, 4, 8), "float32")
    features = {**xlnet_features, "memories": memories}
    plain = randomised(XLNetLMHeadModel(config))
    other = randomised(XLNetLMHeadModel(config, **{option: True}))
    expected = loss_and_gradients(plain, features, _SEED)
    found = loss_and_gradients(other, features, _SEED)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_what_is_dropped(xlnet_config, xlnet_features, monkeypatch):
    calls = []

    def dropout(inputs, rate, seed):
        calls.append((tuple(inputs.shape), rate, tuple(seed.next().numpy())))
        return inputs

    monkeypatch.setattr(keras.random, "dropout", dropout)
    config = xlnet_config(n_layer=1, dropout=0.1, dropatt=0.2)
    model = XLNetLMHeadModel(config)
    model(xlnet_features, training=True, dropout_seed=_SEED)
    # The last block computes the 3 predictions only.
    assert [call[:2] for call in calls] == [
        ((2, 9, 8), 0.1),  # embeddings
        ((12, 8), 0.1),  # codes of positions
        ((2, 3, 3, 6), 0.2),  # probabilities
        ((2, 3, 8), 0.1),  # output of attention
        ((2, 3, 10), 0.1),  # after the activation
        ((2, 3, 8), 0.1),  # output of the feed-forward layer
        ((2, 3, 8), 0.1),  # output
    ]
    assert len({seed for *_, seed in calls}) == len(calls)
    deeper = XLNetLMHeadModel(xlnet_config(dropout=0.1, dropatt=0.2))
    calls.clear()
    deeper(xlnet_features, training=True, dropout_seed=_SEED)
    assert len({seed for *_, seed in calls}) == len(calls) == 11


@pytest.mark.slow
def test_any_shape_compiled(xlnet_config, xlnet_features, randomised):
    model = randomised(XLNetLMHeadModel(xlnet_config(mem_len=4)))
    features = {**xlnet_features, "memories": model.transformer.first_memories(2)}
    shapes = {
        name: tf.TensorSpec([None] * np.ndim(value), value.dtype)
        for name, value in features.items()
    }
    shapes["memories"] = tf.TensorSpec([None, 2, None, 8])
    compiled = tf.function(model, input_signature=[shapes], jit_compile=True)
    for name, expected in model(features).items():
        np.testing.assert_allclose(compiled(features)[name], expected, atol=1e-5)


def test_mixed_precision_keeps_logits_in_float32(xlnet_config, xlnet_features):
    config = xlnet_config(mem_len=4, bi_data=True, initializer_range=0.1)
    policy = keras.DTypePolicy("mixed_bfloat16")
    halved = XLNetLMHeadModel(config, dtype=policy)
    plain = XLNetLMHeadModel(config)
    plain.set_weights(halved.get_weights())
    features = {**xlnet_features, "memories": plain.transformer.first_memories(2)}
    logits = halved(features)["logits"]
    assert logits.dtype == tf.float32
    np.testing.assert_allclose(logits, plain(features)["logits"], atol=0.1)


def test_initial_weights(xlnet_config):
    config = xlnet_config(n_token=4000, d_model=256, initializer_range=0.02)
    embeddings = XLNetModel(config).embeddings
    table = embeddings.word_embeddings.numpy()
    np.testing.assert_allclose(table.std(), 0.02, rtol=0.01)
    assert np.abs(table).max() > 0.06  # not cut off
    mask_emb = embeddings.mask_emb.numpy()
    limit = np.sqrt(6 / 257)
    assert 0.9 * limit < np.abs(mask_emb).max() <= limit


def test_what_excludes_each_other(xlnet_config, xlnet_features):
    with pytest.raises(UserError, match="mem_len and depth_loop exclude each other"):
        XLNetModel(xlnet_config(mem_len=4), depth_loop=True)
    model = XLNetForSequenceClassification(xlnet_config(), num_labels=3)
    with pytest.raises(UserError, match="leave target_positions out"):
        model(xlnet_features)
    both_ways = XLNetModel(xlnet_config(bi_data=True))
    features = {name: value[:1] for name, value in xlnet_features.items()}
    with pytest.raises(UserError, match="batch has 1 rows, but bi_data reads"):
        both_ways(features)
    assert both_ways({**features, "reversed_rows": np.array([1])})


def test_attentions_lead_to_the_outputs(xlnet_config, xlnet_features, randomised):
    config = xlnet_config(n_layer=2)
    model = randomised(XLNetModel(config, return_attentions=True))
    outputs = model(xlnet_features)
    inputs = [outputs["embedding_output"], *outputs["hidden_states"][:-1]]
    for i, found in enumerate(outputs["attentions"]):
        assert found.shape == (2, config.n_head, 6, 6)
        np.testing.assert_allclose(np.sum(found, axis=-1), 1, atol=1e-5)
        attention = model.stack.attention[f"{i}_0"]
        hidden = inputs[i].numpy()
        value = np.einsum("bkw,wnd->bknd", hidden, attention.v_kernel)
        context = np.einsum("bnqk,bknd->bqnd", found, value)
        output = np.einsum("bqnd,wnd->bqw", context, attention.o_kernel)
        normed = attention.layer_norm(hidden + output)
        block = model.stack.feed_forward[f"{i}_0"](normed, None)
        np.testing.assert_allclose(outputs["hidden_states"][i], block, atol=1e-4)
    # Of the second row the last token is padding: others do not see it.
    assert np.all(outputs["attentions"][0].numpy()[1, :, :-1, -1] == 0)
