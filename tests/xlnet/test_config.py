"""The configuration: strict, and readable to the official code."""

import dataclasses
import json

import pytest

from albert_tf.errors import UserError
from albert_tf.xlnet.config import XLNetConfig

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


def test_what_all_architectures_say():
    config = XLNetConfig(**_OFFICIAL, inner_group_num=2)
    assert (config.hidden_size, config.intermediate_size) == (768, 3072)
    assert (config.vocab_size, config.blocks) == (32000, 24)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 0}, "d_model must be a positive integer"),
        ({"d_model": 7}, "d_model must be even"),
        ({"ff_activation": "mish"}, "ff_activation must be one of gelu, relu, ge"),
        ({"untie_r": 1}, "untie_r must be true or false, got 1"),
        ({"dropatt": 1.0}, r"dropatt must be in \[0, 1\)"),
        ({"mem_len": -1}, "mem_len must be an integer from 0"),
        ({"clamp_len": None}, "clamp_len must be an integer from -"),
        ({"num_hidden_groups": 13}, r"at most n_layer \(12\)"),
        ({"inner_group_num": 900}, r"n_layer \(12\) times inner_group_num"),
        ({"hidden_size": 5}, "has the unknown key 'hidden_size'"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        XLNetConfig.from_dict({**_OFFICIAL, **change})
