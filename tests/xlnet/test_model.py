"""The model: against NumPy, its memory, its options, and its refusals."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.layers.base import fold_seed
from albert_tf.optimizers.rules import OTHER
from albert_tf.optimizers.rules import RELATIVE_BIASES
from albert_tf.optimizers.rules import rule_of
from albert_tf.xlnet.heads import XLNetForQuestionAnswering
from albert_tf.xlnet.heads import XLNetForSequenceClassification
from albert_tf.xlnet.heads import no_answer_mask
from albert_tf.xlnet.model import XLNetLMHeadModel
from albert_tf.xlnet.model import XLNetModel
from albert_tf.xlnet.names import MAPPING
from tests.models.block_reference import ACTIVATIONS

_ORDERS = ("query_order", "key_order")


def by_formulas(model, features, is_reversed=(False, False)):
    """(content states, query states, new memories, shares): by row, layers inside.

    In float64 NumPy, written from the formulas with explicit distances: it shares no
    idea with the model, queries attend one by one, and nothing is shifted.
    """
    config = model.config
    weights = {
        name.removeprefix("model/transformer/"): np.array(v, np.float64)
        for name, v in model.official_variables().items()
    }
    rows = [
        _numpy_row(config, weights, {n: v[b] for n, v in features.items()}, turned)
        for b, turned in enumerate(is_reversed)
    ]
    return [np.stack(part) for part in zip(*rows, strict=True)]


def _numpy_row(config, weights, row, turned):
    table = weights["word_embedding/lookup_table"]
    content = list(table[row["input_ids"]])
    targets = list(row["target_positions"])
    queries = [weights["mask_emb/mask_emb"][0, 0]] * len(targets)
    contents, all_queries, memories, shares = [content], [queries], [], []
    for layer in range(config.n_layer):
        memory = list(row["memories"][layer]) if "memories" in row else []
        kept = content[: config.reuse_len or None]
        memories.append((memory + kept)[-config.mem_len :])
        attend = _Attention(config, weights, layer, row, memory, content, turned)
        places = range(len(content))
        content, queries = (
            [attend(h, i, i) for i, h in zip(places, content, strict=True)],
            [attend(g, i) for i, g in zip(targets, queries, strict=True)],
        )
        contents.append(content)
        all_queries.append(queries)
        shares.append(np.swapaxes(attend.shares[: len(content)], 0, 1))
    return [*map(np.array, (contents, all_queries, memories, shares))]


class _Attention:
    """One block for one query."""

    def __init__(self, config, weights, layer, row, memory, content, turned):
        self.config, self.weights, self.layer = config, weights, layer
        self.row, self.turned, self.memory = row, turned, len(memory)
        self.keys = np.array([*memory, *content])
        self.shares = []  # of each query that asked

    def of(self, name):
        return self.weights[f"layer_{self.layer}/{name}"]

    def bias(self, name):
        bias = self.weights[name]
        return bias[self.layer] if self.config.untie_r else bias

    def __call__(self, state, place, itself=None):
        # A padded prediction attends to nothing.
        context = 0 if place < 0 else self.context(state, place, itself)
        attended = state + context
        hidden = self.norm(attended, "rel_attn")
        inner = hidden @ self.of("ff/layer_1/kernel") + self.of("ff/layer_1/bias")
        inner = ACTIVATIONS[self.config.ff_activation](inner)
        output = inner @ self.of("ff/layer_2/kernel") + self.of("ff/layer_2/bias")
        return self.norm(hidden + output, "ff")

    def context(self, state, place, itself):
        q = np.einsum("w,wnd->nd", state, self.of("rel_attn/q/kernel"))
        scores = np.stack(
            [self.score(q, place, itself, j) for j in range(len(self.keys))], axis=-1
        )
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)  # [N, K]
        self.shares.append(shares)
        value = np.einsum("kw,wnd->knd", self.keys, self.of("rel_attn/v/kernel"))
        vector = np.einsum("nk,knd->nd", shares, value)
        return np.einsum("nd,wnd->w", vector, self.of("rel_attn/o/kernel"))

    def score(self, q, place, itself, j):
        token = j - self.memory
        if token >= 0 and token != itself and self.is_hidden(place, token):
            return np.full(self.config.n_head, -np.inf)
        key = np.einsum("w,wnd->nd", self.keys[j], self.of("rel_attn/k/kernel"))
        kernel = self.of("rel_attn/r/kernel")
        code = np.einsum("w,wnd->nd", self.code(place - token), kernel)
        score = ((q + self.bias("r_w_bias")) * key).sum(-1)
        score += ((q + self.bias("r_r_bias")) * code).sum(-1)
        if "segment_ids" in self.row:
            segments = self.row["segment_ids"]
            differs = segments[place] != (segments[token] if token >= 0 else 0)
            embedding = self.weights["seg_embed"][self.layer, int(differs)]
            score += ((q + self.bias("r_s_bias")) * embedding).sum(-1)
        return score / np.sqrt(self.config.d_head)

    def is_hidden(self, place, token):
        if "input_mask" in self.row and not self.row["input_mask"][token]:
            return True
        if "perm_mask" in self.row and self.row["perm_mask"][place, token]:
            return True
        order = [self.row.get(name) for name in _ORDERS]
        return order[0] is not None and order[0][place] <= order[1][token]

    def code(self, distance):
        limit = self.config.clamp_len
        distance = min(max(distance, -limit), limit) if limit > 0 else distance
        distance = -distance if self.turned else distance
        width = self.config.d_model
        angles = [distance / 10000 ** (2 * k / width) for k in range(width // 2)]
        return np.concatenate([np.sin(angles), np.cos(angles)])

    def norm(self, x, part):
        scaled = (x - x.mean()) / np.sqrt(x.var() + 1e-12)
        gamma, beta = (self.of(f"{part}/LayerNorm/{n}") for n in ("gamma", "beta"))
        return scaled * gamma + beta


_SEED = np.array([3, 7], "int32")


def without(features, *names):
    return {name: value for name, value in features.items() if name not in names}


@pytest.mark.parametrize(
    ("changes", "absent", "told"),
    [
        ({"mem_len": 7, "reuse_len": 4}, _ORDERS, {}),
        (
            {"mem_len": 3, "clamp_len": 2, "ff_activation": "gelu_erf"},
            ("input_mask",),
            {},
        ),
        (
            {"mem_len": 9, "untie_r": False, "ff_activation": "relu", "clamp_len": 0},
            ("perm_mask",),
            {},
        ),
        ({"mem_len": 2, "reuse_len": 9, "bi_data": True}, ("segment_ids",), {}),
        ({"mem_len": 4, "bi_data": True}, ("input_mask", "perm_mask", *_ORDERS), {}),
        ({"mem_len": 4, "bi_data": True}, (), {"reversed_rows": np.array([1, 0])}),
    ],
)
def test_both_streams_and_memories_are_the_formulas(
    changes, absent, told, xlnet_config, xlnet_features, randomised
):
    config = xlnet_config(**changes)
    model = randomised(XLNetModel(config))
    features = {**without(xlnet_features, *absent), **told}
    turned = told.get("reversed_rows", (False, config.bi_data))
    for _ in range(3):
        outputs = model(features)
        content, queries, memories, _ = by_formulas(model, features, turned)
        found = tf.stack([outputs["embedding_output"], *outputs["hidden_states"]], 1)
        np.testing.assert_allclose(found, content, atol=1e-5)
        found = tf.stack(outputs["query_hidden_states"], 1)
        np.testing.assert_allclose(found, queries[:, 1:], atol=1e-5)
        np.testing.assert_allclose(outputs["memories"], memories, atol=1e-5)
        features = {**features, "memories": outputs["memories"]}


def test_no_bit_of_a_prediction_depends_on_hidden_tokens(
    xlnet_config, xlnet_features, randomised
):
    model = randomised(XLNetLMHeadModel(xlnet_config(mem_len=3)))
    places = np.tile(np.arange(6, dtype="int32"), (2, 1))
    order = np.random.default_rng(0).permuted(places, axis=1)
    features = without(xlnet_features, "perm_mask", "input_mask")
    features |= {**dict.fromkeys(_ORDERS, order), "target_positions": places}
    features["memories"] = model.transformer.first_memories(2)  # all see it
    ids, logits = features["input_ids"], model(features)["logits"]
    for j in range(6):
        changed = ids.copy()
        changed[:, j] = (ids[:, j] + 1) % 23
        found = model({**features, "input_ids": changed})["logits"]
        same = np.all(found == logits, axis=-1)
        # A place sees neither its own token nor those that come later.
        np.testing.assert_array_equal(same, order <= order[:, j : j + 1])


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


def gradients(model, features, **options):
    """The logits, and gradients by official name."""
    with tf.GradientTape() as tape:
        logits = model(features, **options)["logits"]
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[..., 3])
    variables = model.official_variables()
    values = [variable.value for variable in variables.values()]
    found = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, values)]
    return logits, dict(zip(variables, found, strict=True))


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
    (expected, theirs), (found, ours) = (
        gradients(model, features, training=True, dropout_seed=_SEED)
        for model in (plain, other)
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for name, gradient in theirs.items():
        np.testing.assert_allclose(ours[name], gradient, atol=1e-4)


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
    expected = [fold_seed(_SEED, site) for site in (-1, -3, 0, 1, 3, 2, -4)]
    assert [seed for *_, seed in calls] == [tuple(s.numpy()) for s in expected]
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
    six = both_ways._directions({"input_ids": np.zeros((6, 4))})
    assert six.numpy().tolist() == [1, 1, 1, -1, -1, -1]
    features = {name: value[:1] for name, value in xlnet_features.items()}
    with pytest.raises(UserError, match="batch has 1 rows, but bi_data reads"):
        both_ways(features)
    assert both_ways({**features, "reversed_rows": np.array([1])})
    with pytest.raises(UserError, match="return_attentions and depth_loop exclude"):
        XLNetModel(xlnet_config(), depth_loop=True, return_attentions=True)
    config = xlnet_config(mem_len=4)
    model = XLNetModel(config, return_attentions=True)
    assert XLNetModel.from_config(model.get_config()).return_attentions
    memories = model.first_memories(2)
    one_order = {"query_order": xlnet_features["input_ids"]}
    for own, features, message in (
        (model, one_order, "query_order and key_order say .*; give both"),
        (model, {"memories": memories}, "leave memories out"),
        (
            XLNetModel(config),
            {"memories": memories[:, 1:]},
            rf"shape \[2, {config.blocks - 1}, 4, 8\], but .*, {config.blocks}, mem",
        ),
    ):
        with pytest.raises(UserError, match=message):
            own({"input_ids": xlnet_features["input_ids"], **features})


def test_attentions_are_those_of_the_formulas(xlnet_config, xlnet_features, randomised):
    model = randomised(XLNetModel(xlnet_config(), return_attentions=True))
    found = model(xlnet_features)["attentions"]
    *_, shares = by_formulas(model, xlnet_features)
    np.testing.assert_allclose(np.stack(found, 1), shares, atol=1e-5)


def test_answers_may_lie_in_the_text_and_at_the_last_token():
    for segments, expected in (
        # Two tokens of text, [SEP] question [SEP] [CLS], padded on either side.
        ([3, 3, 0, 0, 0, 1, 1, 2], [1, 1, 0, 0, 1, 1, 1, 0]),
        ([0, 0, 0, 1, 1, 2, 3, 3], [0, 0, 1, 1, 1, 0, 1, 1]),
        ([0, 0, 1, 2], [0, 1, 1, 0]),  # without padding and question
    ):
        row = np.array([segments], "int32")
        found = no_answer_mask(np.int32(row < 3), row)
        np.testing.assert_array_equal(found, [expected])


def test_equal_widths_need_no_mapping(xlnet_config):
    for embedding_size in (None, 8):
        model = XLNetLMHeadModel(xlnet_config(embedding_size=embedding_size))
        assert MAPPING not in model.official_variables()


def test_biases_and_norms_are_not_decayed_but_relative_biases_are(xlnet_config):
    model = XLNetLMHeadModel(xlnet_config(embedding_size=5))
    variables, names = model.trainable_variables, model.official_names()
    rules = {names[v.path]: rule_of(v.path) for v in variables}
    assert len(rules) == 34 and OTHER not in rules.values()
    for name, rule in rules.items():
        last = name.split("/")[-1]
        is_relative = last in ("r_w_bias", "r_r_bias", "r_s_bias")
        assert rule.excluded == (last in ("gamma", "beta", "bias")), name
        assert (rule.name == RELATIVE_BIASES) == is_relative


def test_the_last_token_of_rows(xlnet_config):
    mask = np.int32([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 0, 0, 0]])
    model = XLNetForQuestionAnswering(xlnet_config())
    assert np.array(model._cls_positions(mask)).tolist() == [[2], [4], [0]]
