"""The configuration: strict, complete, and equal to the released sizes."""

import json
import math
import re
import sys

import pytest

from albert_tf.config import RELEASED_SIZES
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError

OFFICIAL = json.loads("""{"attention_probs_dropout_prob": 0, "hidden_act": "gelu",
    "hidden_dropout_prob": 0, "embedding_size": 128, "hidden_size": 768,
    "initializer_range": 0.02, "intermediate_size": 3072, "num_attention_heads": 12,
    "max_position_embeddings": 512, "num_hidden_layers": 12, "num_hidden_groups": 1,
    "net_structure_type": 0, "gap_size": 0, "num_memory_blocks": 0,
    "inner_group_num": 1, "down_scale_factor": 1, "type_vocab_size": 2,
    "vocab_size": 30000}""")


@pytest.mark.parametrize(
    ("name", "heads", "act", "dropout", "initializer_range"),
    [
        ("base_v1", 12, "gelu", 0.1, 0.02),
        ("xlarge_v2", 16, "gelu", 0, 0.02),
        ("xxlarge_v1", 64, "gelu", 0, 0.02),
        ("xlarge_zh", 16, "relu", 0, 0.014),
        ("xxlarge_zh", 16, "relu", 0, 0.01),
    ],
)
def test_traps_of_the_size_table(name, heads, act, dropout, initializer_range):
    config = AlbertConfig.released(name)
    assert (config.num_attention_heads, config.hidden_act) == (heads, act)
    assert config.hidden_dropout_prob == dropout
    assert config.attention_probs_dropout_prob == dropout
    assert config.initializer_range == initializer_range


def test_a_released_file_is_the_released_size_and_there_and_back(project, tmp_path):
    recipes = {path.stem for path in (project / "configs" / "albert").glob("*.json")}
    assert recipes == set(RELEASED_SIZES)
    path, base = tmp_path / "albert_config.json", AlbertConfig.released("base_v2")
    path.write_text(json.dumps(OFFICIAL))
    assert AlbertConfig.from_json_file(path) == base
    base.to_json_file(path)  # which the official code can read
    assert set(json.loads(path.read_text())) <= set(OFFICIAL)
    config = AlbertConfig.released("large_zh", parameter_sharing="ffn")
    config.to_json_file(path)
    assert AlbertConfig.from_json_file(path) == config
    assert AlbertConfig.from_dict(config.to_dict()) == config
    with pytest.raises(UserError, match="released size must be one of base_v1"):
        AlbertConfig.released("base")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position_embedding_type": "rope"}, "disentangled, got 'rope'"),
        ({"norm": "prre"}, "norm must be one of post, pre, .*; did you mean pre"),
        ({"global_attention_every": 2}, "all blocks are global; set that, too"),
        (
            {"local_attention_window": 8, "global_attention_every": 0},
            "global_attention_every must be a positive",
        ),
        (
            {"position_embedding_type": "rotary", "num_attention_heads": 256},
            "turns pairs of elements, but a head has 3 ",
        ),
        ({"norms_first_input": False}, "needs norm 'pre' and parameter_sharing 'none'"),
        ({"num_hidden_layers": 2**31 - 1}, "times inner_group_num .1. must be at most"),
        (None, "lacks the key 'vocab_size'"),
    ],
)
def test_bad_values_are_named(change, message, tmp_path):
    path = tmp_path / "albert_config.json"
    values = {"hidden_size": 768} if change is None else {**OFFICIAL, **change}
    path.write_text(json.dumps(values))
    with pytest.raises(UserError, match=message) as error:
        AlbertConfig.from_json_file(path)
    assert str(path) in str(error.value)


_LARGEST = sys.float_info.max
_SHARE = "in [0, 1)"
_BASE = "a finite number of at least 1"
_COUNT = "a positive integer below 2**31"


@pytest.mark.parametrize(
    ("name", "allowed", "refused", "message"),
    [
        ("hidden_dropout_prob", (0, 0.999), (-0.001, 1, True, "0"), _SHARE),
        ("attention_probs_dropout_prob", (0, 0.999), (-0.001, 1, None), _SHARE),
        ("layer_norm_eps", (0, 0.999), (-0.001, 1), _SHARE),
        ("rotary_base", (1, _LARGEST), (0.999, math.inf), _BASE),
        ("local_rotary_base", (1, _LARGEST), (0.999, math.inf, "1"), _BASE),
        (
            "initializer_range",
            (0, 3, _LARGEST),
            (-0.001, math.inf, "x"),
            "finite and at least 0",
        ),
        ("vocab_size", (1, 2**31 - 1), (0, 2**31, 1.0, True), _COUNT),
        ("max_position_embeddings", (1,), (0, None), _COUNT),
        ("local_attention_window", (1, None), (0,), _COUNT),
        ("type_vocab_size", (0, 1), (-1,), "an integer from 0 to 2**31 - 1"),
        ("position_buckets", (2, None), (1,), "an integer from 2 to 2**31 - 1"),
        ("padding_idx", (0, 29_999, None), (30_000,), "below vocab_size (30000), or n"),
        ("depth_adapter_rank", (0, 768), (769,), "an integer from 0 to 768, the small"),
        ("use_bias", (True, False), (1, None), "true or false"),
        ("num_hidden_layers", (1, 10_000), (10_001,), "(1) must be at most 10,000."),
        ("num_hidden_groups", (1, 12), (13,), "(13) must be at most num_hidden_layers"),
        ("inner_group_num", (1, 833), (834,), "(834) must be at most 10,000."),
    ],
)
def test_numbers_at_their_bounds(name, allowed, refused, message):
    for value in allowed:
        config = AlbertConfig.from_dict({**OFFICIAL, name: value})
        assert getattr(config, name) == value
    for value in refused:
        with pytest.raises(UserError, match=f"^x: .*{name}.*{re.escape(message)}"):
            AlbertConfig.from_dict({**OFFICIAL, name: value}, "x")


def test_lengths_of_rows(xlnet_config):
    albert, xlnet = AlbertConfig(30, max_position_embeddings=64), xlnet_config()
    infos = [{"max_seq_length": 32}, {"max_seq_length": 16}, {}]
    for config, longest, most in (
        (albert, 64, "to 64, the number"),
        (xlnet, 512, "or m"),
    ):
        assert config.row_length(None, [{}]) == longest
        assert config.row_length(None, infos) == 16
        assert config.row_length(5, infos) == 5
        with pytest.raises(UserError, match=f"max_seq_length=4: expected 5 {most}"):
            config.row_length(4, [{}])
    assert (albert.longest_row(65), xlnet.longest_row(65)) == (64, 65)
    assert albert.row_length(64, [{}]) == 64 and xlnet.row_length(513, [{}]) == 513
    with pytest.raises(UserError, match="n=65: expected 5 to 64"):
        albert.check_row("n", 65)


@pytest.mark.parametrize("layers", [12, 24])
def test_groups_are_contiguous(layers):
    for groups in range(1, layers + 1):
        config = AlbertConfig(30, num_hidden_layers=layers, num_hidden_groups=groups)
        found = [config.group_of_layer(layer) for layer in range(layers)]
        assert found == sorted(found)
        assert set(found) == set(range(groups))
        assert found == [int(i / layers * groups) for i in range(layers)]
    # The official float arithmetic gives 14 here.
    config = AlbertConfig(30, num_hidden_layers=22, num_hidden_groups=22)
    assert config.group_of_layer(15) == 15
