"""The configuration, strict and readable to the official code, and its costs."""

import dataclasses
import json

import pytest

from albert_tf.errors import UserError
from albert_tf.xlnet import costs
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.family import XLNET
from albert_tf.xlnet.model import XLNetLMHeadModel

_OFFICIAL = {
    "d_head": 64,
    "d_inner": 3072,
    "d_model": 768,
    "ff_activation": "gelu",
    "n_head": 12,
    "n_layer": 12,
    "n_token": 32000,
    "untie_r": True,
}


def test_the_official_file_is_read_and_written(tmp_path):
    path = tmp_path / "xlnet_config.json"
    path.write_text(json.dumps(_OFFICIAL))
    config = XLNetConfig.from_json_file(path)
    assert config.parameter_sharing == "none" and not config.has_embedding_mapping
    config.to_json_file(path)
    assert json.loads(path.read_text()) == _OFFICIAL
    changed = dataclasses.replace(config, mem_len=384, embedding_size=128)
    changed.to_json_file(path)
    written = json.loads(path.read_text())
    assert written == {**_OFFICIAL, "mem_len": 384, "embedding_size": 128}
    assert XLNetConfig.from_json_file(path) == changed
    assert changed.table_width == 128


def test_what_makes_no_sense_is_refused():
    for change, message in (
        ({"d_model": 7}, "d_model must be even"),
        ({"ff_activation": "mish"}, "ff_activation must be one of gelu, relu, ge"),
        ({"dropatt": 1.0}, r"dropatt must be in \[0, 1\)"),
        ({"num_hidden_groups": 13}, r"at most n_layer \(12\)"),
        ({"hidden_size": 5}, "has the unknown key 'hidden_size'"),
    ):
        with pytest.raises(UserError, match=message):
            XLNetConfig.from_dict({**_OFFICIAL, **change})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"parameter_sharing": "all", "num_hidden_groups": 2, "inner_group_num": 2},
        {"parameter_sharing": "attention", "embedding_size": 4},
        {"parameter_sharing": "ffn", "untie_r": False},
    ],
)
def test_parameters_are_those_of_the_model(changes, xlnet_config):
    model = XLNetLMHeadModel(xlnet_config(n_layer=3, **changes))
    encoder = XLNET.encoder_parameters(model.config)
    assert encoder == model.transformer.count_params()
    counted = sum(costs.pretraining_parameters(model.config).values())
    assert counted == model.count_params()


def test_operations_counted_by_hand(xlnet_config):
    """Of 4 tokens with 2 predictions and a memory of 2."""
    found = costs.forward_flops(xlnet_config(mem_len=2), 4, 2)
    heads, keys, queries = 12, 6, 6
    # Keys and values of 6 places; questions and outputs of 6; 8 wide.
    assert found["attention projections"] * 4 == 2 * 8 * heads * (2 * 6 + 2 * queries)
    # Content, values: 6 keys each; positions: 10 codes.
    assert found["attention scores"] * 4 == 2 * heads * queries * (2 * keys + 10)
    assert found["feed-forward"] * 4 == queries * 2 * 2 * 8 * 10
    last = 2 * 8 * heads * (2 * 6 + 2 * 2) + 2 * heads * 2 * 22 + 2 * 4 * 8 * 10
    assert found["last block"] * 4 == last
    assert found["permutation LM head"] * 4 == 2 * 2 * 8 * 23

    # A mapping costs in both places.
    found = costs.forward_flops(xlnet_config(embedding_size=4), 4, 2)
    mapping = 2 * 4 * 8
    assert found["embedding mapping"] == mapping
    assert found["permutation LM head"] * 4 == 2 * (mapping + 2 * 4 * 23)


def test_memory_counted_by_hand(xlnet_config):
    """Of 3 blocks for 4 segments of 16 tokens, 3 predictions and a memory of 5."""
    config = xlnet_config(n_layer=3, mem_len=5)
    found = costs.training_memory(config, 4, 16, 3)
    parameters = 4 * sum(costs.pretraining_parameters(config).values())
    # 3 heads have probabilities for 21 keys, and scores of 37 positions.
    block = 8 * 8 + 10 + 3 * (21 + 37)
    assert found == {
        "weights": parameters,
        "gradients": parameters,
        "optimizer (up to two moments)": 2 * parameters,
        "activations": 4 * 4 * 19 * 3 * block,
        "memory of earlier segments": 2 * 4 * 4 * 3 * 5 * 8,
        "permutation LM logits": 4 * 4 * 2 * 3 * 23,
    }
    less = costs.training_memory(config, 4, 16, 3, True, activation_bytes=2)
    assert less["activations"] == 2 * 4 * 19 * (3 * 8 + block)
