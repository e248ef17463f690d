"""Blocks of today and depth adapters against a NumPy reference."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.bundle import without_adapters
from albert_tf.costs.albert import forward_flops
from albert_tf.errors import UserError
from albert_tf.families import layer_sharing
from albert_tf.layers.attention_mask import attention_mask_of
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.optimizers import LAMB
from albert_tf.optimizers.muon import Muon
from albert_tf.optimizers.rules import layer_factors
from albert_tf.serving.loading import build_module
from albert_tf.tokenization import load_tokenizer
from tests.models.block_reference import DISENTANGLED
from tests.models.block_reference import MODERN
from tests.models.block_reference import encoder_states
from tests.models.block_reference import make
from tests.models.block_reference import weights_of
from tests.saved_models import assert_same_weights

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
    {**MODERN, "hidden_act": "reglu", "parameter_sharing": "none"},
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
        (
            {**MODERN, "local_rotary_base": 50.0},
            {"depth_loop": True, "rematerialize": True},
        ),
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
    untied = config(tie_word_embeddings=False)
    with pytest.raises(UserError, match="hold blocks with tie_word_embeddings=False;"):
        AlbertForMaskedLM(untied).save_pretrained(tmp_path, format="tf1")
    # Alone, an encoder has nothing that could be tied.
    AlbertModel(untied).save_pretrained(tmp_path, format="tf1")
    assert AlbertModel.from_pretrained(tmp_path).config.tie_word_embeddings


def test_the_last_projections_begin_smaller(config):
    """By the root of their number, 16."""
    for layers, inner in ((8, 1), (2, 4)):
        changes = {"num_hidden_layers": layers, "inner_group_num": inner}
        model = AlbertModel(config(hidden_size=64, norm="pre", **changes))
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
    turned = {
        **rows,
        "input_ids": rows["input_ids"][:, ::-1].copy(),
        "masked_lm_positions": 6 - rows["masked_lm_positions"],
    }
    moved = np.abs(model.guesses(rows)[:1] - model.guesses(turned)[:1])
    assert moved.max() > 1e-3
    with pytest.raises(UserError, match="leave its position_embedding_type out"):
        AlbertForReplacedTokens(
            config(), generator={"position_embedding_type": "rotary"}
        )


TRANSFORMER = "bert/encoder/transformer"
QUERY = f"{TRANSFORMER}/group_{{}}/inner_group_0/attention_1/self/query/kernel"
SHARINGS = [
    {},
    {"parameter_sharing": "attention", "num_hidden_groups": 2},
    MODERN
    | {"parameter_sharing": "ffn", "inner_group_num": 2, "num_attention_heads": 2},
]


@pytest.fixture
def deep_config(tiny_config):
    """Makes a configuration of four layers with adapters."""
    return lambda rank=2, **changes: tiny_config(depth_adapter_rank=rank, **changes)


def started(folder, deep_config, rule):
    """A model of `deep_config` that begins with the one of `folder`, and the report."""
    return warm_start(AlbertForPreTraining, bundle.open(folder), deep_config, rule, ())


def adapters_of(variables):
    """`down` and `up` of the query's adapters."""
    scope = f"{TRANSFORMER}/depth_adapters/attention_1/self/query"
    return variables[f"{scope}/down"], variables[f"{scope}/up"]


def states(model, features):
    return np.array(model(features)["sequence_output"])


def test_new_adapters_change_nothing(deep_config, tiny_features):
    adapted, plain = AlbertModel(deep_config()), AlbertModel(deep_config(0))
    own = adapted.official_variables()
    for name, variable in plain.official_variables().items():
        variable.assign(own[name])
    new = own.keys() - plain.official_variables()
    assert {name.split("/")[3] for name in new} == {"depth_adapters"}
    found, expected = (states(model, tiny_features) for model in (adapted, plain))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("changes", SHARINGS)
def test_merged_saved_and_served_they_compute_the_same(
    changes, deep_config, tiny_features, vocabulary, tmp_path
):
    (tmp_path / "vocab.txt").write_text(vocabulary("abc"), "utf-8")
    model = make(deep_config(**changes), AlbertForPreTraining)
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    model.save_pretrained(tmp_path / "own", tokenizer)
    loaded = AlbertForPreTraining.from_pretrained(tmp_path / "own")
    expected = states(model, tiny_features)
    np.testing.assert_array_equal(states(loaded, tiny_features), expected)
    merged = without_adapters(loaded)
    assert without_adapters(merged) is merged
    module, served, _ = build_module([bundle.open(tmp_path / "own")], "encoder")
    features = {name: tf.constant(tiny_features[name]) for name in served.task.features}
    for found, own in (
        (states(merged, tiny_features), merged),
        (module.compute(features)["sequence_output"], served.model),
    ):
        assert "depth_adapters" not in "".join(v.path for v in own.variables)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    merged.save_pretrained(tmp_path / "merged")
    both = (
        AlbertModel.from_pretrained(tmp_path / name, return_attentions=True)
        for name in ("own", "merged")
    )
    attentions = [model(tiny_features)["attentions"] for model in both]
    np.testing.assert_allclose(*attentions, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rematerialize", [False, True])
def test_every_adapter_learns(rematerialize, deep_config, tiny_features):
    model = make(deep_config(), rematerialize=rematerialize)
    with tf.GradientTape() as tape:
        output = model(tiny_features, training=True)["sequence_output"]
        loss = tf.reduce_sum(output**3)
    adapters = [v.value for v in model.transformer.adapters.trainable_variables]
    for gradient in tape.gradient(loss, adapters):
        assert np.abs(gradient).max(axis=(1, 2)).min() > 0  # of each block


def test_a_rank_without_a_use_is_refused(deep_config):
    with pytest.raises(UserError, match="must be an integer from 0 to 12, .* got 13"):
        deep_config(13)
    with pytest.raises(UserError, match="is 2, but no two layers share a product"):
        deep_config(parameter_sharing="none")


@pytest.fixture
def teacher(deep_config, tmp_path):
    """A saved teacher of four layers, whose new biases and norms are equal."""
    values = {"depth_adapter_rank": 0, "parameter_sharing": "none"}
    model = AlbertForPreTraining(dataclasses.replace(deep_config(), **values))
    model.save_pretrained(tmp_path)
    return model


def test_full_rank_is_the_teacher(deep_config, tiny_features, teacher, tmp_path):
    expected = states(teacher, tiny_features)
    for rule in (layer_sharing.FIRST, layer_sharing.MEAN):
        student, report = started(tmp_path, deep_config(12), rule)
        found = states(student, tiny_features)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        assert "  rank of depth adapters: 12, from 0" in report


def test_a_lower_rank_is_the_nearest(deep_config, teacher, tmp_path):
    weights = teacher.official_variables()
    layers = [np.array(weights[QUERY.format(i)]) for i in range(4)]
    student, _ = started(tmp_path, deep_config(3), layer_sharing.MEAN)
    own = student.official_variables()
    down, up = adapters_of(own)
    shared = own[QUERY.format(0)]
    np.testing.assert_allclose(shared, np.mean(layers, axis=0), atol=1e-6)
    for i, layer in enumerate(layers):
        left = np.linalg.norm(layer - shared - down[i] @ up[i])
        values = np.linalg.svd(layer - shared, compute_uv=False)
        np.testing.assert_allclose(left, np.linalg.norm(values[3:]), rtol=1e-4)


@pytest.mark.usefixtures("teacher")
def test_an_adapter_without_a_difference_trains(deep_config, tmp_path):
    """Of the first layer, where that is the shared one."""
    student, _ = started(tmp_path, deep_config(3), layer_sharing.FIRST)
    own = student.official_variables()
    down, up = adapters_of(own)
    assert np.abs(up[0]).max() < 1e-6
    lengths = np.linalg.norm(down[0], axis=0)
    np.testing.assert_allclose(lengths, 0.2 * 12**0.5, rtol=1e-3)


def test_its_student_keeps_or_merges_its_adapters(deep_config, tmp_path):
    model = make(deep_config(), AlbertForPreTraining)
    model.save_pretrained(tmp_path)
    changed = deep_config(hidden_dropout_prob=0.1)
    again, _ = started(tmp_path, changed, layer_sharing.FIRST)
    assert_same_weights(again, model)
    plain, _ = started(tmp_path, deep_config(0), layer_sharing.MEAN)
    own = model.official_variables()
    down, up = adapters_of(own)
    expected = own[QUERY.format(0)] + np.mean(down @ up, axis=0)
    found = plain.official_variables()[QUERY.format(0)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_another_depth_takes_the_adapters_of_its_layers(deep_config):
    """Layers 0 and 2 of four, whose full rank is exact."""
    source, target = deep_config(12), deep_config(12, num_hidden_layers=2)
    model = make(source, AlbertModel)
    tensors = {n: v.numpy() for n, v in model.official_variables().items()}
    moved, _ = layer_sharing.move_layers_and_adapters(
        tensors, source, target, layer_sharing.FIRST
    )
    ((_, expected), (_, found)) = (
        layer_sharing.merge_adapters(c, t)
        for c, t in ((source, tensors), (target, moved))
    )
    for own, theirs in ((0, 0), (1, 2)):
        kernels = found[QUERY.format(own)], expected[QUERY.format(theirs)]
        np.testing.assert_allclose(*kernels, atol=1e-6)


def test_optimizers_know_them(deep_config):
    variables = AlbertModel(deep_config()).trainable_variables
    adapters = ["depth_adapters/" in v.path for v in variables]
    assert sum(adapters) == 12
    lamb, muon = LAMB(), Muon()
    lamb.build(variables)
    muon.build(variables)
    for i, is_adapter in enumerate(adapters):
        if is_adapter:
            assert not lamb.excluded[i]
            assert not muon.is_matrix[i]
    assert "depth adapters" in "".join(lamb.rules_table(variables))
    assert layer_factors(deep_config(), 0.5)["depth_adapters"] == 0.5


def test_operations_of_adapters(deep_config):
    found, plain = (forward_flops(deep_config(rank), 10, 2) for rank in (2, 0))
    adapters = found.pop("depth adapters")
    assert found == plain
    # Four products of 12 x 12, two of 12 x 20; keys and values of all tokens.
    whole, keys_and_values = 2 * 2 * (4 * 24 + 2 * 32), 2 * 2 * 2 * 24
    last = keys_and_values + 0.3 * (whole - keys_and_values)
    np.testing.assert_allclose(adapters, 3 * whole + last)
