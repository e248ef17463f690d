"""Low-rank adapters by depth: new ones, merged ones, and what knows them.

`test_modern_blocks.py` compares their numbers with NumPy.
"""

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
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.optimizers import LAMB
from albert_tf.optimizers.muon import Muon
from albert_tf.optimizers.rules import layer_factors
from albert_tf.serving.loading import build_module
from albert_tf.tokenization import load_tokenizer
from tests.models.block_reference import MODERN
from tests.models.block_reference import make
from tests.saved_models import assert_same_weights

QUERY = "group_{}/inner_group_0/attention_1/self/query/kernel"
ADAPTERS = "bert/encoder/transformer/depth_adapters"
SHARINGS = [
    {},
    {"parameter_sharing": "attention", "num_hidden_groups": 2},
    MODERN
    | {"parameter_sharing": "ffn", "inner_group_num": 2, "num_attention_heads": 2},
]


@pytest.fixture
def config(tiny_config):
    """Makes a configuration of four layers with adapters."""
    return lambda rank=2, **changes: tiny_config(depth_adapter_rank=rank, **changes)


def started(folder, config, rule):
    """A model of `config` that begins with the one of `folder`, and the report."""
    return warm_start(AlbertForPreTraining, bundle.open(folder), config, rule, ())


def adapters_of(variables):
    """`down` and `up` of the query's adapters."""
    scope = f"{ADAPTERS}/attention_1/self/query"
    return variables[f"{scope}/down"], variables[f"{scope}/up"]


def states(model, features):
    return np.array(model(features)["sequence_output"])


def test_new_adapters_change_nothing(config, tiny_features):
    adapted, plain = AlbertModel(config()), AlbertModel(config(0))
    own = adapted.official_variables()
    for name, variable in plain.official_variables().items():
        variable.assign(own[name])
    assert {name.split("/")[3] for name in own.keys() - plain.official_variables()} == {
        "depth_adapters"
    }
    np.testing.assert_array_equal(
        states(adapted, tiny_features), states(plain, tiny_features)
    )


@pytest.mark.slow
@pytest.mark.parametrize("changes", SHARINGS)
def test_merged_saved_and_served_they_compute_the_same(
    changes, config, tiny_features, vocabulary, tmp_path
):
    (tmp_path / "vocab.txt").write_text(vocabulary("abc"), "utf-8")
    model = make(config(**changes), AlbertForPreTraining)
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
    attentions = [
        AlbertModel.from_pretrained(tmp_path / name, return_attentions=True)(
            tiny_features
        )["attentions"]
        for name in ("own", "merged")
    ]
    for found, own in zip(*attentions, strict=True):
        np.testing.assert_allclose(found, own, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rematerialize", [False, True])
def test_every_adapter_learns(rematerialize, config, tiny_features):
    model = make(config(), rematerialize=rematerialize)
    with tf.GradientTape() as tape:
        output = model(tiny_features, training=True)["sequence_output"]
        loss = tf.reduce_sum(output**3)
    adapters = [v.value for v in model.transformer.adapters.trainable_variables]
    for gradient in tape.gradient(loss, adapters):
        assert np.abs(gradient).max(axis=(1, 2)).min() > 0  # of each block


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 13}, "must be an integer from 0 to 12, .* got 13"),
        ({"parameter_sharing": "none"}, "is 2, but no two layers share a product"),
    ],
)
def test_a_rank_without_a_use_is_refused(changes, message, config):
    with pytest.raises(UserError, match=message):
        config(**changes)


class TestFromLayersThatDiffer:
    """Shared students of an unshared teacher."""

    @pytest.fixture
    def teacher(self, config, tmp_path):
        """A saved teacher of four layers, whose new biases and norms are equal."""
        values = {"depth_adapter_rank": 0, "parameter_sharing": "none"}
        model = AlbertForPreTraining(dataclasses.replace(config(), **values))
        model.save_pretrained(tmp_path)
        return model

    @pytest.mark.parametrize("rule", [layer_sharing.FIRST, layer_sharing.MEAN])
    def test_full_rank_is_the_teacher(
        self, rule, config, tiny_features, teacher, tmp_path
    ):
        expected = states(teacher, tiny_features)
        student, report = started(tmp_path, config(12), rule)
        np.testing.assert_allclose(
            states(student, tiny_features), expected, rtol=0, atol=1e-5
        )
        assert "  rank of depth adapters: 12, from 0" in report

    def test_a_lower_rank_is_the_nearest(self, config, teacher, tmp_path):
        weights = teacher.official_variables()
        layers = [
            np.array(weights[f"bert/encoder/transformer/{QUERY.format(i)}"])
            for i in range(4)
        ]
        student, _ = started(tmp_path, config(3), layer_sharing.MEAN)
        own = student.official_variables()
        down, up = adapters_of(own)
        shared = own[f"bert/encoder/transformer/{QUERY.format(0)}"]
        np.testing.assert_allclose(shared, np.mean(layers, axis=0), atol=1e-6)
        for i, layer in enumerate(layers):
            left = np.linalg.norm(layer - shared - down[i] @ up[i])
            values = np.linalg.svd(layer - shared, compute_uv=False)
            np.testing.assert_allclose(left, np.linalg.norm(values[3:]), rtol=1e-4)

    @pytest.mark.usefixtures("teacher")
    def test_an_adapter_without_a_difference_trains(self, config, tmp_path):
        """Of the first layer, where that is the shared one."""
        student, _ = started(tmp_path, config(3), layer_sharing.FIRST)
        own = student.official_variables()
        down, up = adapters_of(own)
        assert np.abs(up[0]).max() < 1e-6
        lengths = np.linalg.norm(down[0], axis=0)
        np.testing.assert_allclose(lengths, 0.2 * 12**0.5, rtol=1e-3)

    def test_a_students_student_keeps_its_adapters(self, config, tmp_path):
        model = make(config(), AlbertForPreTraining)
        model.save_pretrained(tmp_path)
        changed = config(hidden_dropout_prob=0.1)
        again, _ = started(tmp_path, changed, layer_sharing.FIRST)
        assert_same_weights(again, model)

    def test_another_depth_takes_the_adapters_of_its_layers(self, config):
        """Layers 0 and 2 of four, whose full rank is exact."""
        source, target = config(12), config(12, num_hidden_layers=2)
        model = make(source, AlbertModel)
        tensors = {n: v.numpy() for n, v in model.official_variables().items()}
        moved, _ = layer_sharing.move_layers_and_adapters(
            tensors, source, target, layer_sharing.FIRST
        )
        ((_, expected), (_, found)) = (
            layer_sharing.merge_adapters(c, t)
            for c, t in ((source, tensors), (target, moved))
        )
        name = f"bert/encoder/transformer/{QUERY}"
        for own, theirs in ((0, 0), (1, 2)):
            kernels = found[name.format(own)], expected[name.format(theirs)]
            np.testing.assert_allclose(*kernels, atol=1e-6)

    def test_without_adapters_it_takes_the_merged_layers(self, config, tmp_path):
        model = make(config(), AlbertForPreTraining)
        model.save_pretrained(tmp_path)
        plain, _ = started(tmp_path, config(0), layer_sharing.MEAN)
        own = model.official_variables()
        down, up = adapters_of(own)
        name = f"bert/encoder/transformer/{QUERY.format(0)}"
        expected = own[name] + np.mean(down @ up, axis=0)
        np.testing.assert_allclose(
            plain.official_variables()[name], expected, atol=1e-6
        )


def test_optimizers_know_them(config):
    variables = AlbertModel(config()).trainable_variables
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
    assert layer_factors(config(), 0.5)["depth_adapters"] == 0.5


def test_operations_of_adapters(config):
    found, plain = (forward_flops(config(rank), 10, 2) for rank in (2, 0))
    adapters = found.pop("depth adapters")
    assert found == plain
    # Four products of 12 x 12, two of 12 x 20; keys and values of all tokens.
    whole, keys_and_values = 2 * 2 * (4 * 24 + 2 * 32), 2 * 2 * 2 * 24
    last = keys_and_values + 0.3 * (whole - keys_and_values)
    np.testing.assert_allclose(adapters, 3 * whole + last)
