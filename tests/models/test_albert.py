"""The encoder: its features, several texts a row, precision, attentions, dropout."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.albert import mean_of_tokens
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.models.features import named_features
from albert_tf.models.pretraining import AlbertForPreTraining
from tests.models.block_reference import DISENTANGLED
from tests.models.block_reference import MODERN


def test_mask_and_segments_may_be_absent(tiny_config, tiny_features):
    albert = AlbertModel(tiny_config())
    ids = tiny_features["input_ids"]
    full = {"input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    expected = albert({"input_ids": ids, **full})["sequence_output"]
    found = albert({"input_ids": ids})["sequence_output"]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(UserError, match="17 tokens, but the model has only 16"):
        albert({"input_ids": np.zeros((1, 17), "int32")})
    with pytest.raises(UserError, match="return_attentions and depth_loop exclude"):
        AlbertModel(tiny_config(), return_attentions=True, depth_loop=True)


def test_means_of_tokens():
    vectors = np.arange(24.0).reshape(2, 6, 2)
    features = {"input_ids": np.ones((2, 6)), "input_mask": [[1, 1, 1, 1, 1, 0]] * 2}
    assert mean_of_tokens(vectors, features).numpy().tolist() == [[4, 5], [16, 17]]
    features["cls_positions"] = np.array([[0, 2], [0, 1]])
    expected = [[[4, 5], [4, 5]], [[16, 17], [16, 17]]]
    assert mean_of_tokens(vectors, features).numpy().tolist() == expected
    features["pair_ids"] = np.array([[1, 1, 2, 2, 2, 0], [1, 2, 2, 2, 2, 0]])
    expected = [[[1, 2], [6, 7]], [[12, 13], [17, 18]]]
    assert mean_of_tokens(vectors, features).numpy().tolist() == expected
    # Of no token, as in rows that fill a batch.
    features["input_mask"] = np.zeros((2, 6))
    assert not np.any(mean_of_tokens(vectors, features))
    del features["cls_positions"]
    assert not np.any(mean_of_tokens(vectors, features))


@pytest.mark.parametrize(
    ("family", "policy", "tolerance"),
    [
        ("albert", "float32", 1e-5),
        ("albert", "mixed_bfloat16", 0.05),
        ("roberta", "float32", 1e-5),  # which counts positions from its padding on
        ("modernbert", "float32", 1e-5),  # which takes means, and has windows
    ],
)
def test_each_text_of_a_row_is_computed_as_if_alone(
    family, policy, tolerance, family_config, family_tokenizer
):
    config = family_config(family, family_tokenizer(family))
    random, pair_ids = np.random.default_rng(5), [[1] * 5 + [2] * 3 + [3] * 4 + [0] * 2]
    segments = random.integers(0, config.type_vocab_size or 1, (1, 14), dtype="int32")
    row = {
        "input_ids": random.integers(5, 20, (1, 14), dtype="int32"),
        "input_mask": np.int32(np.array(pair_ids) > 0),
        "segment_ids": segments,
        "pair_ids": np.array(pair_ids, "int32"),
        "cls_positions": np.array([[0, 5, 8, 0]], "int32"),
    }
    model = AlbertForPreTraining(config, dtype=policy)
    packed = model(row)
    (name, found), *others = model(row, heads_only=True).items()
    assert (name, others) == ("sentence_order_logits", [])
    np.testing.assert_allclose(found, packed[name], rtol=0, atol=tolerance)
    for k, pair in enumerate((slice(0, 5), slice(5, 8), slice(8, 12))):
        names = ("input_ids", "segment_ids")
        alone = model({name: row[name][:, pair] for name in names})
        for name, place in (
            ("sequence_output", pair),
            ("pooled_output", k),
            ("sentence_order_logits", k),
        ):
            found = np.float32(packed[name][:, place])
            expected = np.float32(alone[name])
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


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
    assert AlbertModel.from_config(model.get_config()).return_attentions


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
def test_classifier_dropout(model_class, tiny_config, features):
    config = tiny_config(num_hidden_layers=1)
    for rate, same in ((0.1, False), (0.0, True)):
        model = model_class(config, num_labels=3, classifier_dropout_prob=rate)
        plain = model(features)
        dropped = model(features, training=True, dropout_seed=SEED)
        assert np.array_equal(plain, dropped) is same


_MODELS = {
    "AlbertModel": {},
    "AlbertForPreTraining": {},
    "AlbertForSequenceClassification": {"num_labels": 3},
}
_THEIRS = {"input_mask": "attention_mask", "segment_ids": "token_type_ids"}


def first(outputs):
    """One array of a model's outputs."""
    is_dict = isinstance(outputs, dict)
    return np.array(outputs["sequence_output"] if is_dict else outputs)


@pytest.mark.parametrize("name", _MODELS)
def test_names_of_others_types_and_ids_alone(name, tiny_config, features):
    keras.utils.set_random_seed(1)
    config = tiny_config(num_hidden_layers=1)
    model = getattr(albert_tf, name)(config, **_MODELS[name])
    theirs = {_THEIRS.get(k, k): v.astype("int64") for k, v in features.items()}
    outputs = model(features)
    expected, ids = first(outputs), features["input_ids"]
    alone = first(model({"input_ids": ids}))
    assert np.abs(alone - expected).max() > 1e-4  # mask and segments matter
    np.testing.assert_array_equal(first(model(features=features)), expected)
    for given in (ids, keras.ops.convert_to_tensor(ids)):
        np.testing.assert_array_equal(first(model(given)), alone)
    for dtype in ("bool", "int64", "float32"):
        theirs["attention_mask"] = theirs["attention_mask"].astype(dtype)
        np.testing.assert_allclose(first(model(theirs)), expected, atol=1e-6)
    named = model(**theirs)
    if not isinstance(outputs, dict):
        np.testing.assert_allclose(named.logits, expected, atol=1e-6)
        return
    assert dict(named).keys() == outputs.keys()
    np.testing.assert_allclose(named.last_hidden_state, expected, atol=1e-6)
    pooled = outputs["pooled_output"]
    np.testing.assert_allclose(named.pooler_output, pooled, atol=1e-6)
    with pytest.raises(AttributeError, match="no 'loss'; it returns .*_output"):
        named.loss  # noqa: B018


def test_names_that_are_wrong_missing_or_doubled(tiny_config, features):
    model = albert_tf.AlbertModel(tiny_config())
    mask = features["input_mask"]
    for given, message in (
        ({**features, "attention_masks": mask}, "'attention_masks'; did you mean 'att"),
        ({**features, "x": mask}, "feature 'x'; it takes input_ids, .*token_type_ids"),
        ({"input_mask": mask}, "lack input_ids; got input_mask"),
        ({**features, "attention_mask": mask}, "input_mask and attention_mask are the"),
    ):
        for call in (model, functools.partial(model.predict, verbose=0)):
            with pytest.raises(UserError, match=message):
                call(given)
    assert named_features({"input_ids": 1, "token_type_ids": None}) == {"input_ids": 1}
    batch = {"input_ids": 1, "masked_lm_ids": 2, "labels": 3}
    assert named_features(batch) == batch


TWO_TEXTS = np.array([[1, 1, 1, 2, 2, 2, 2]] * 2, "int32")
CLS_POSITIONS = np.array([[0, 3]] * 2, "int32")
_MODERN = {**MODERN, "num_attention_heads": 2, "num_hidden_layers": 2}
# What a head reads, and of which encoder.
CASES = [
    ("packed", {}, {"depth_loop": True, "rematerialize": True}),
    ("logits", _MODERN, {}),
    ("pooled", {**_MODERN, "num_hidden_layers": 1}, {"rematerialize": True}),
    ("packed", DISENTANGLED, {}),
]


def gradients(model, features, names, heads_only):
    """Those of a training step whose loss reads some outputs."""
    with tf.GradientTape() as tape:
        outputs = model(
            features, training=True, dropout_seed=SEED, heads_only=heads_only
        )
        loss = tf.add_n([tf.reduce_sum(outputs[name] ** 2) for name in names])
    found = tape.gradient(loss, [v.value for v in model.trainable_variables])
    return [np.array(tf.convert_to_tensor(gradient)) for gradient in found]


@pytest.mark.slow
@pytest.mark.parametrize(("read", "changes", "options"), CASES)
def test_same_numbers_and_gradients(read, changes, options, tiny_config, tiny_features):
    keras.utils.set_random_seed(4)
    model_class = AlbertModel if read == "pooled" else AlbertForPreTraining
    model = model_class(tiny_config(**changes), **options)
    names = ["masked_lm_logits", "sentence_order_logits"]
    if read == "pooled":
        del tiny_features["masked_lm_positions"]
        tiny_features["pair_ids"] = TWO_TEXTS  # of which the first is pooled
        names = ["pooled_output"]
    if read == "packed":
        tiny_features |= {"pair_ids": TWO_TEXTS, "cls_positions": CLS_POSITIONS}
    whole, saving = (model(tiny_features, heads_only=only) for only in (False, True))
    assert sorted(saving) == names
    for name in names:
        np.testing.assert_allclose(saving[name], whole[name], rtol=0, atol=3e-6)
    expected, found = (
        gradients(model, tiny_features, names, only) for only in (False, True)
    )
    largest = max(np.abs(gradient).max() for gradient in expected)
    for gradient, other in zip(found, expected, strict=True):
        # The sums over positions are made in another order: a few roundings.
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-5 * largest)


def products(model, features, **arguments):
    """Floating point operations of the matrix products."""
    function = tf.function(lambda: model(features, **arguments))
    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    ).with_empty_output()
    profile = tf.compat.v1.profiler.profile(
        function.get_concrete_function().graph, options=options.build()
    )
    return profile.total_float_ops


@pytest.mark.slow
def test_the_last_block_saves_most_of_its_work(tiny_config, tiny_features):
    tiny_features["masked_lm_positions"] = np.array([[1], [2]], "int32")
    config = tiny_config(hidden_size=48, intermediate_size=192, num_hidden_layers=2)
    model = AlbertForPreTraining(config)
    whole = products(model, tiny_features)
    # Of two blocks, the second keeps its keys and values: 2 of 12 units of work.
    assert products(model, tiny_features, heads_only=True) < 0.8 * whole
