"""The describe command and its estimates."""

import pytest

from albert_tf.commands.describe import DescribeOptions
from albert_tf.commands.describe import describe
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.albert import block_values
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.albert import training_memory


@pytest.fixture
def described(capsys):
    """Describes a configuration: the numbers of each line by what they count."""

    def describe_with(**options):
        describe(DescribeOptions(**options))
        lines = capsys.readouterr().out.splitlines()
        return {line[:28].strip(): line[28:].split() for line in lines}

    return describe_with


def test_table_of_base(described):
    lines = described(albert_config_file="albert/base_v2")
    assert lines["encoder"] == ["11,683,584"]
    assert lines["with the pretraining heads"] == ["11,813,810"]
    assert lines["attention projections"] == ["51.90", "103.81"]
    assert lines["feed-forward"] == ["103.81", "207.62"]
    assert lines["total, rematerialised"] == ["178.79", "543.65"]
    # 15% of 512 positions are projected: 77 * 8 logits and their gradients.
    assert lines["masked LM logits"] == ["141.0", "141.0"]
    plain, saving = (float(x.replace(",", "")) for x in lines["activations"])
    assert plain > 5 * saving


def test_table_of_xlnet(described):
    lines = described(albert_config_file="xlnet/base", max_predictions_per_seq=85)
    assert lines["encoder"] == ["116,718,336"]
    assert lines["with the pretraining heads"] == ["116,750,336"]
    # 384 tokens of width 768 in 12 layers and 8 rows, before the step and after it.
    assert lines["memory of earlier segments"] == ["216.0", "216.0"]


def test_flops_by_hand():
    config = AlbertConfig(
        50,
        embedding_size=4,
        hidden_size=6,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=5,
        inner_group_num=2,
    )
    forward = forward_flops(config, length=10, predictions=2)
    assert forward == pytest.approx(
        {
            "embedding mapping": 2 * 4 * 6,
            "attention projections": 5 * 4 * 2 * 36,
            "attention scores": 5 * 2 * 2 * 10 * 6,
            "feed-forward": 5 * 2 * 2 * 6 * 5,
            # Keys and values of 10 tokens; the rest of the first and 2 masked ones.
            "last block": 144 + 0.3 * (144 + 240 + 120),
            "masked LM head": 0.2 * (2 * 6 * 4 + 2 * 4 * 50),
            "pooler": 2 * 36 / 10,
        }
    )
    total = sum(forward.values())
    assert backward_flops(forward) == 2 * total
    # Of the two products of the attention scores, one is computed a third time.
    blocks = 5 * (288 + 1.5 * 240 + 120) + forward["last block"]
    again = backward_flops(forward, rematerialize=True)
    assert again == pytest.approx(2 * total + blocks)


def test_a_gate_is_a_third_product():
    config = AlbertConfig.released("base_v2")
    gated = AlbertConfig.released("base_v2", hidden_act="geglu")
    found, expected = (forward_flops(c, 512, 77) for c in (gated, config))
    assert found["feed-forward"] == 1.5 * expected["feed-forward"]
    assert found["last block"] > expected["last block"]
    assert block_values(gated, 512) == block_values(config, 512) + 3072


def test_memory_grows_with_the_depth_and_halves_in_low_precision():
    shallow = AlbertConfig.released("base_v2", num_hidden_layers=2)
    deep = AlbertConfig.released("base_v2", num_hidden_layers=12)

    def activations(config, rematerialize):
        return training_memory(config, 4, 256, 20, rematerialize)["activations"]

    block = 4 * 4 * 256 * block_values(deep, 256)
    assert activations(deep, False) - activations(shallow, False) == 10 * block
    inputs = 4 * 4 * 256 * 768
    assert activations(deep, True) - activations(shallow, True) == 10 * inputs
    exact, mixed = (
        training_memory(deep, 4, 256, 20, activation_bytes=size) for size in (4, 2)
    )
    assert exact.pop("activations") == 2 * mixed.pop("activations")
    assert exact == mixed
