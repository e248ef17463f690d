"""Parameter counts: published ones, and the models' own."""

import itertools

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining


@pytest.mark.parametrize(
    ("name", "encoder", "pretraining"),
    [
        ("base_v2", 11_683_584, 11_813_810),
        ("large_v2", 17_683_968, 17_847_474),
        ("xlarge_v2", 58_724_864, 59_021_490),
        ("xxlarge_v2", 222_595_584, 223_158_450),
    ],
)
def test_released_sizes(name, encoder, pretraining):
    config = AlbertConfig.released(name)
    assert sum(encoder_parameters(config).values()) == encoder
    assert sum(pretraining_parameters(config).values()) == pretraining


@pytest.mark.parametrize(
    ("embedding_size", "sharing", "parameters", "millions"),
    [
        (128, "all", 11_683_584, 12),
        (128, "attention", 63_647_232, 64),
        (128, "ffn", 37_686_528, 38),
        (128, "none", 89_650_176, 89),
        (768, "all", 31_114_752, 31),
        (768, "attention", 83_078_400, 83),
        (768, "ffn", 57_117_696, 57),
        (768, "none", 109_081_344, 108),
    ],
)
def test_sharing_as_in_the_paper(embedding_size, sharing, parameters, millions):
    # `millions` is table 4 of the paper, which counts now with, now without the
    # pooler (0.59 M).
    config = AlbertConfig.released(
        "base_v2", embedding_size=embedding_size, parameter_sharing=sharing
    )
    count = sum(encoder_parameters(config).values())
    assert count == parameters
    assert abs(count / 1e6 - millions) < 1.1


def test_bert_is_one_config_away():
    config = AlbertConfig.released(
        "base_v2", vocab_size=30522, embedding_size=768, num_hidden_groups=12
    )
    assert sum(encoder_parameters(config).values()) == 109_482_240  # BERT-base


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sharing", "embedding_size", "groups", "inner"),
    [
        *itertools.product(["all", "none"], [6, 12], [1, 2], [1]),
        ("attention", 6, 2, 2),
        ("ffn", 6, 3, 2),
    ],
)
def test_counts_equal_the_model(tiny_config, sharing, embedding_size, groups, inner):
    config = tiny_config(
        parameter_sharing=sharing,
        embedding_size=embedding_size,
        num_hidden_groups=groups,
        inner_group_num=inner,
    )
    for counts, model_class in (
        (encoder_parameters, AlbertModel),
        (pretraining_parameters, AlbertForPreTraining),
    ):
        assert sum(counts(config).values()) == model_class(config).count_params()


@pytest.mark.parametrize(
    "changes",
    [
        {"position_embedding_type": "rotary", "hidden_act": "swiglu"},
        {"norm": "pre", "num_hidden_groups": 2},
        {"norm": "pre", "use_bias": False, "hidden_act": "geglu"},
    ],
)
def test_counts_of_blocks_of_today(tiny_config, changes):
    config = tiny_config(**changes)
    count = sum(pretraining_parameters(config).values())
    assert count == AlbertForPreTraining(config).count_params()


def test_released_base_model():
    model = AlbertModel(AlbertConfig.released("base_v2"))
    assert model.count_params() == 11_683_584
    assert len(model.official_names()) == 25
