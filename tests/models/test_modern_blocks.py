"""Blocks of today (norm before, rotary, gated, local) against a NumPy reference."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from tests.models.block_reference import MODERN
from tests.models.block_reference import encoder_states
from tests.models.block_reference import make
from tests.models.block_reference import weights_of

BLOCKS = [
    {},
    {"position_embedding_type": "rotary"},
    {"norm": "pre"},
    {"norm": "pre", "use_bias": False},
    {"hidden_act": "geglu"},
    {"hidden_act": "swiglu", "use_bias": False},
    {"local_attention_window": 2},
    {"local_attention_window": 1, "global_attention_every": 2},
    MODERN,
    {**MODERN, "hidden_act": "swiglu", "parameter_sharing": "none"},
    {**MODERN, "parameter_sharing": "attention", "num_hidden_groups": 2},
    {**MODERN, "parameter_sharing": "ffn", "inner_group_num": 2},
    {**MODERN, "num_hidden_groups": 2, "inner_group_num": 2},
]
ADAPTED = [
    {"depth_adapter_rank": 2},
    {**MODERN, "depth_adapter_rank": 3, "parameter_sharing": "attention"},
    {**MODERN, "depth_adapter_rank": 1, "parameter_sharing": "ffn"},
    {"depth_adapter_rank": 2, "num_hidden_layers": 4, "inner_group_num": 2},
]
WAYS = [
    {"depth_loop": True},
    {"rematerialize": True},
    {"depth_loop": True, "rematerialize": True},
]
_OTHER_GRADIENTS = [BLOCKS[1], *BLOCKS[3:7], ADAPTED[0], ADAPTED[2]]
SEED = tf.constant([5, 17], tf.int32)
PAIRS = [slice(0, 7), slice(7, 10), slice(10, 15)]


def nightly(value):
    return pytest.param(value, marks=pytest.mark.nightly)


@pytest.fixture
def config(tiny_config):
    """Makes a configuration of two layers, whose heads are of even size."""
    sizes = {"num_attention_heads": 2, "num_hidden_layers": 2}
    return lambda **changes: tiny_config(**{**sizes, **changes})


@pytest.fixture
def features(tiny_features):
    """Of two rows, each of one text."""
    del tiny_features["masked_lm_positions"]
    return tiny_features


@pytest.fixture
def packed():
    """Of two rows of three texts and of one, with padding."""
    random = np.random.default_rng(8)
    pair_ids = np.array([[1] * 7 + [2] * 3 + [3] * 5 + [0], [1] * 12 + [0] * 4])
    return {
        "input_ids": random.integers(0, 37, (2, 16), dtype="int32"),
        "input_mask": (pair_ids > 0).astype("int32"),
        "segment_ids": random.integers(0, 2, (2, 16), dtype="int32"),
        "pair_ids": pair_ids.astype("int32"),
    }


def states_of(model, features):
    outputs = model(features)
    mapped = model.first_block_input(outputs["embedding_output"])
    return [mapped, *outputs["hidden_states"], outputs["sequence_output"]]


def gradients(model, features, loss_of, **call):
    """Those of a training step by the official names of the variables."""
    with tf.GradientTape() as tape:
        loss = loss_of(model(features, training=True, **call))
    variables = {
        name: variable.value
        for name, variable in model.official_variables().items()
        if variable.trainable
    }
    found = tape.gradient(loss, variables)
    return {
        k: tf.convert_to_tensor(v).numpy() for k, v in found.items() if v is not None
    }


@pytest.mark.parametrize("changes", [*BLOCKS, *ADAPTED])
def test_every_state_equals_numpy(changes, config, features, packed):
    model = make(config(**changes))
    for rows in (features, packed):
        real = rows["input_mask"] == 1
        expected = encoder_states(model.config, weights_of(model), rows)
        found = states_of(model, rows)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[real], other[real], rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    "changes", [BLOCKS[2], MODERN, ADAPTED[1], *map(nightly, _OTHER_GRADIENTS)]
)
def test_gradients_equal_differences(changes, config, packed):
    """Along a random direction of each variable, against the reference in float64."""
    model = make(config(**changes))
    weights, random = weights_of(model), np.random.default_rng(2)
    upstream = random.normal(size=(2, 16, 12)) * packed["input_mask"][:, :, None]

    def loss_of(outputs):
        return tf.reduce_sum(outputs["sequence_output"] * tf.cast(upstream, tf.float32))

    found = gradients(model, packed, loss_of)
    assert set(weights) - set(found) == {
        "bert/pooler/dense/kernel",
        "bert/pooler/dense/bias",
    }
    for name, gradient in found.items():
        direction = random.normal(size=gradient.shape)
        step = 1e-5 / np.abs(direction).max()
        ends = [
            np.sum(
                upstream
                * encoder_states(
                    model.config,
                    {**weights, name: weights[name] + sign * step * direction},
                    packed,
                )[-1]
            )
            for sign in (-1, 1)
        ]
        slope = (ends[1] - ends[0]) / (2 * step)
        scale = np.linalg.norm(gradient) * np.linalg.norm(direction)
        assert abs(slope - np.sum(gradient * direction)) < 2e-5 * scale + 1e-4, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "options"),
    [
        (MODERN, WAYS[2]),
        (BLOCKS[-4], WAYS[1]),
        (ADAPTED[3], WAYS[0]),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                (MODERN, WAYS[0]),
                (MODERN, WAYS[1]),
                (BLOCKS[-3], WAYS[0]),
                (BLOCKS[-2], WAYS[2]),
                (ADAPTED[0], WAYS[1]),
                (ADAPTED[1], WAYS[2]),
            )
        ),
    ],
)
def test_the_same_in_a_loop_and_rematerialised(changes, options, config, packed):
    changes = {**changes, "hidden_dropout_prob": 0.1}

    def step(**options):
        model = make(config(**changes), **options)

        @tf.function(autograph=False)
        def outputs():
            return model(packed, training=True, dropout_seed=SEED)["sequence_output"]

        with tf.GradientTape() as tape:
            sequence = outputs()
            loss = tf.reduce_sum(sequence**2 * packed["input_mask"][:, :, None])
        variables = model.transformer.trainable_variables
        return sequence, tape.gradient(loss, [v.value for v in variables])

    (expected, plain), (found, other) = step(), step(**options)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    for one, two in zip(other, plain, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=2e-4)


@pytest.mark.parametrize("rematerialize", [False, True])
def test_a_later_loop_knows_where_it_begins(rematerialize, config, features):
    """By each block's adapters."""
    changes = {"num_hidden_layers": 4, "num_hidden_groups": 2, "depth_adapter_rank": 2}
    loops = {"depth_loop": True, "rematerialize": rematerialize}
    found, expected = (
        make(config(**changes), **options)(features)["sequence_output"]
        for options in (loops, {})
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_each_text_of_a_row_as_if_alone(policy, config, packed):
    model = make(config(**MODERN), dtype=policy)
    together = model(packed)["sequence_output"]
    atol = 1e-5 if policy == "float32" else 0.2
    for pair in PAIRS:
        names = ("input_ids", "segment_ids")
        alone = model({name: packed[name][:1, pair] for name in names})
        np.testing.assert_allclose(
            np.float32(together[:1, pair]),
            np.float32(alone["sequence_output"]),
            rtol=0,
            atol=atol,
        )


@pytest.mark.parametrize("changes", [{}, {"num_hidden_layers": 1}])
@pytest.mark.parametrize("options", [{}, WAYS[-1]])
def test_the_last_block_computes_what_heads_read(options, changes, config, packed):
    model = make(config(**MODERN, **changes), AlbertForPreTraining, **options)
    rows = {
        **packed,
        "cls_positions": np.array([[0, 7, 10], [0, 0, 0]], "int32"),
        "masked_lm_positions": np.array([[1, 8, 13], [4, 0, 0]], "int32"),
    }

    def loss_of(outputs):
        logits = outputs["masked_lm_logits"]
        return tf.reduce_sum(logits**2) + tf.reduce_sum(
            outputs["sentence_order_logits"]
        )

    whole, saving = model(rows), model(rows, heads_only=True)
    for name in ("masked_lm_logits", "sentence_order_logits"):
        np.testing.assert_allclose(saving[name], whole[name], rtol=0, atol=1e-5)
    expected, found = (
        gradients(model, rows, loss_of, heads_only=only) for only in (False, True)
    )
    for name, gradient in expected.items():
        largest = np.abs(gradient).max()
        np.testing.assert_allclose(found[name], gradient, rtol=0, atol=1e-4 * largest)


def test_some_blocks_after_others(config, packed):
    """A part of the stack runs by itself, as leaving early needs it."""
    model = make(config(num_hidden_layers=4, **MODERN))
    _, attention_mask = model._embed(packed, None)
    states = states_of(model, packed)
    stack = model.transformer
    middle = stack.run(states[1], attention_mask, 1, 3)
    np.testing.assert_array_equal(middle, states[2:4])
    (last,) = stack.run(middle[-1], attention_mask, 3, 4)
    np.testing.assert_array_equal(stack.output_of(last), states[-1])


def test_local_blocks_look_no_farther(config, features):
    model = make(config(num_hidden_layers=3, **MODERN), return_attentions=True)
    maps = np.array(model(features)["attentions"])[:, 0].min(axis=1)  # [L, T, T]
    places = np.arange(7)
    near = np.abs(places[:, None] - places) <= 2
    for number, weights in enumerate(maps):
        expected = near if number % 2 else np.ones_like(near)
        np.testing.assert_array_equal(weights > 0, expected)


def test_a_model_directory_holds_them(config, features, tmp_path):
    model = make(config(**MODERN))
    model.save_pretrained(tmp_path)
    again = AlbertModel.from_pretrained(tmp_path)
    assert again.config == model.config
    expected = model(features)["sequence_output"]
    np.testing.assert_array_equal(again(features)["sequence_output"], expected)


@pytest.mark.nightly
def test_an_export_computes_them(config, features, tmp_path):
    model = make(config(**MODERN))
    model.export(tmp_path / "e", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "e"))
    for tokens in (7, 4):
        rows = {name: values[:, :tokens] for name, values in features.items()}
        expected = model(rows)["sequence_output"]
        found = loaded.serve({k: tf.constant(v) for k, v in rows.items()})
        np.testing.assert_allclose(
            found["sequence_output"], expected, rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("form", ["tf1", "huggingface"])
def test_other_forms_cannot_hold_them(form, config, tmp_path):
    model = AlbertModel(config(**MODERN))
    message = (
        "cannot hold blocks with position_embedding_type=rotary, norm=pre, .*geglu"
    )
    with pytest.raises(UserError, match=message):
        model.save_pretrained(tmp_path / "m", format=form)
    assert not list((tmp_path / "m").iterdir())


@pytest.mark.parametrize(("layers", "inner"), [(8, 1), (2, 4)])
def test_the_last_projections_begin_smaller(layers, inner, config):
    """By the root of their number, 16."""
    changes = {"num_hidden_layers": layers, "inner_group_num": inner, "norm": "pre"}
    model = AlbertModel(config(hidden_size=64, **changes))
    attention = model.transformer.attention["0_0"]
    sizes = [np.std(layer.kernel) for layer in attention.projections]
    np.testing.assert_allclose(sizes, [0.176, 0.176, 0.176, 0.176 / 4], rtol=0.1)


def test_the_generator_has_the_positions_of_the_discriminator(config, features):
    model = make(
        config(**MODERN),
        AlbertForReplacedTokens,
        generator={"hidden_size": 8, "norm": "post"},
    )
    names = [v.path.split("/")[-1] for v in model.variables]
    assert "position_embeddings" not in names
    rows = {**features, "masked_lm_positions": np.array([[1, 2], [3, 0]], "int32")}
    # Turned round, other words stand before and after the masked ones.
    turned = {**rows, "input_ids": rows["input_ids"][:, ::-1].copy()}
    turned["masked_lm_positions"] = 6 - rows["masked_lm_positions"]
    moved = np.abs(model.guesses(rows)[:1] - model.guesses(turned)[:1])
    assert moved.max() > 1e-3
    with pytest.raises(UserError, match="leave its position_embedding_type out"):
        AlbertForReplacedTokens(
            config(), generator={"position_embedding_type": "rotary"}
        )
