"""Models that start from checkpoints of other depths and groups."""

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.bundle import warm_start
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.families.layer_sharing import MEAN
from albert_tf.families.layer_sharing import move_layers
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining

_TRANSFORMER = "bert/encoder/transformer"


def groups(layers, groups, sharing="all"):
    sizes = {"num_hidden_layers": layers, "num_hidden_groups": groups}
    return AlbertConfig(10, parameter_sharing=sharing, **sizes)


def moved(source, target, **options):
    """From which group each group of `target` comes: (attention, feed-forward)."""
    tensors = {"bert/pooler/dense/bias": -1}
    for number in range(source.num_hidden_layers):
        scope = f"{_TRANSFORMER}/group_{number}/inner_group_0"
        tensors[f"{scope}/attention_1/self/query/bias"] = np.float32(number)
        tensors[f"{scope}/ffn_1/intermediate/dense/bias"] = np.float32(number)
    tensors, _ = move_layers(tensors, source, target, **options)
    assert tensors.pop("bert/pooler/dense/bias") == -1
    attention = {n.split("/")[3]: t for n, t in tensors.items() if "query" in n}
    feed_forward = {n.split("/")[3]: t for n, t in tensors.items() if "ffn" in n}
    return list(attention.values()), list(feed_forward.values())


@pytest.mark.parametrize(
    ("source", "target", "rule", "expected"),
    [
        (groups(6, 1), groups(12, 1), FIRST, [0]),
        (groups(4, 2), groups(8, 4), FIRST, [0, 0, 1, 1]),
        (groups(4, 4), groups(4, 2), FIRST, [0, 2]),
        (groups(4, 2), groups(4, 1, "none"), FIRST, [0, 0, 1, 1]),
        # What is missing comes from group 0 by the official rule.
        (groups(4, 2), groups(8, 4), GROUP0, [0, 1, 0, 0]),
        (groups(4, 1, "none"), groups(4, 1), MEAN, [1.5]),
        (groups(4, 4), groups(8, 1), MEAN, [1.5]),
        (groups(4, 4), groups(2, 2), MEAN, [0.5, 2.5]),
        (groups(3, 3), groups(2, 2), MEAN, [0, 1.5]),
    ],
)
def test_where_layers_come_from(source, target, rule, expected):
    assert moved(source, target, rule=rule) == (expected, expected)


def test_sublayers_move_apart_where_only_one_is_shared():
    source, target = groups(4, 1, "attention"), groups(4, 2)
    assert moved(source, target) == ([0, 0], [0, 2])


def test_a_checkpoint_without_heads_is_reported(tiny_config, tmp_path):
    AlbertModel(tiny_config()).save_pretrained(tmp_path)
    config = tiny_config(num_hidden_groups=2, hidden_dropout_prob=0.1)
    model, report = warm_start(
        AlbertForPreTraining, bundle.open(tmp_path), config, FIRST, ("cls/",)
    )
    lines = "\n".join(report)
    assert "cls/predictions/output_bias" in lines
    assert "group_1/inner_group_0, attention: from group_0/inner_group_0" in lines
    assert model.config == config
    with pytest.raises(UserError, match="lacks cls/predictions"):
        warm_start(AlbertForPreTraining, bundle.open(tmp_path), config, FIRST, ())


def test_another_width_is_an_error(tiny_config, tmp_path):
    AlbertForPreTraining(tiny_config()).save_pretrained(tmp_path)
    config = tiny_config(intermediate_size=24)
    with pytest.raises(UserError, match="intermediate_size=20, .* has 24; the two may"):
        warm_start(AlbertForPreTraining, bundle.open(tmp_path), config, FIRST, ())
