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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 7}, "d_model must be even"),
        ({"ff_activation": "mish"}, "ff_activation must be one of gelu, relu, ge"),
        ({"dropatt": 1.0}, r"dropatt must be in \[0, 1\)"),
        ({"num_hidden_groups": 13}, r"at most n_layer \(12\)"),
        ({"hidden_size": 5}, "has the unknown key 'hidden_size'"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        XLNetConfig.from_dict({**_OFFICIAL, **change})
