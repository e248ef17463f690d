"""Blocks of today (norm before, rotary, gated, local) against a NumPy reference."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.layers.attention_mask import attention_mask_of
from albert_tf.models.albert import AlbertModel
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from tests.models.block_reference import DISENTANGLED
from tests.models.block_reference import MODERN
from tests.models.block_reference import encoder_states
from tests.models.block_reference import make
from tests.models.block_reference import weights_of

BLOCKS = [
    {},
    DISENTANGLED,
    {"position_embedding_type": "rotary"},
    {"norm": "pre"},
    {"hidden_act": "geglu"},
    {"hidden_act": "swiglu", "use_bias": False},
    {"local_attention_window": 2},
    {"local_attention_window": 1, "global_attention_every": 2},
    MODERN,
    {**MODERN, "hidden_act": "swiglu", "parameter_sharing": "none"},
    {**MODERN, "parameter_sharing": "attention", "num_hidden_groups": 2},
    {**MODERN, "num_hidden_groups": 2, "inner_group_num": 2},
]
ADAPTED = [
    {"depth_adapter_rank": 2},
    {**MODERN, "depth_adapter_rank": 3, "parameter_sharing": "attention"},
    {**MODERN, "depth_adapter_rank": 1, "parameter_sharing": "ffn"},
    {"depth_adapter_rank": 2, "num_hidden_layers": 4, "num_hidden_groups": 2},
    {**DISENTANGLED, "depth_adapter_rank": 2},
]
SEED = tf.constant([5, 17], tf.int32)


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


def test_rotary_positions_start_again_with_each_text(config, packed):
    """No number but rounding would tell: attention reads distances alone."""
    rotary = config(position_embedding_type="rotary")
    mask = attention_mask_of(rotary, packed["input_mask"], packed["pair_ids"])
    turns = np.array(mask.key_turns)[0]
    for first, end in ((7, 10), (10, 15)):
        np.testing.assert_array_equal(turns[first:end], turns[: end - first])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "options"),
    [
        (MODERN, {"depth_loop": True, "rematerialize": True}),
        (MODERN, {"rematerialize": True}),  # whose layers share their gradients
        (BLOCKS[-4], {"rematerialize": True}),
        (ADAPTED[3], {"depth_loop": True}),  # whose second group begins later
        (DISENTANGLED, {"rematerialize": True}),
        (ADAPTED[4], {"depth_loop": True, "rematerialize": True}),
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
    real = packed["input_mask"] == 1  # padding sees other keys in blocks of a window
    np.testing.assert_allclose(found[real], expected[real], rtol=0, atol=1e-5)
    for one, two in zip(other, plain, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=2e-4)


def test_the_official_code_cannot_hold_them(config, tmp_path):
    model = AlbertModel(config(**MODERN, depth_adapter_rank=2))
    with pytest.raises(UserError, match="cannot hold blocks with .*rotary, .*_rank=2"):
        model.save_pretrained(tmp_path / "m", format="tf1")
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
