"""The describe command and its estimates."""

import json
import re

import pytest

from albert_tf.commands.describe import DescribeOptions
from albert_tf.commands.describe import describe
from albert_tf.commands.describe import main
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.albert import block_values
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.albert import training_flops
from albert_tf.costs.albert import training_memory
from albert_tf.errors import UserError


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


@pytest.fixture
def run_of(capsys):
    """Runs a command line: what its last table says, plain and rematerialised."""

    def run(*flags):
        main(["describe", *flags])
        lines = capsys.readouterr().out.rstrip().splitlines()[-6:]
        return {line[:32].strip(): re.split("  +", line[32:].strip()) for line in lines}

    return run


def number(text):
    return float(text.replace(",", ""))


def test_a_recipe_on_devices(run_of):
    flags = ["--config=pretraining/base", "--mixed_precision=bfloat16"]
    table = run_of(*flags, "--device=8xH100")
    # The larger of the two halves of 95 GB fits, one whole batch of 512 rows does not.
    assert table["accumulation steps that fit"] == ["2", "1"]
    assert table["sequences of a device at once"] == ["256", "512"]
    config = AlbertConfig.released("base_v1")
    sizes = {"batch_size": 256, "length": 512, "predictions": 20}
    memory = training_memory(config, **sizes, activation_bytes=2)
    used = sum(memory.values()) + memory["gradients"]
    assert table["GB of its memory"][0] == f"{used / 1e9:.1f}"
    flops = training_flops(forward_flops(config, 512, 20))
    rate = 0.4 * 8 * 989.4e12 / flops
    assert number(table["tokens/s at 40% of the peak"][0]) == pytest.approx(rate, 1e-4)
    hours = 4096 * 125_000 * 512 / rate / 3600
    assert table["hours"][0] == f"{hours:,.1f}"
    slower = run_of(*flags, "--device=8xH100", "--utilization=0.2")
    assert number(slower["hours"][0]) == pytest.approx(2 * hours, abs=0.06)
    one = run_of(*flags, "--device=H100")
    assert number(one["hours"][0]) == pytest.approx(8 * hours, abs=0.06)
    exact = run_of("--config=pretraining/base", "--device=8xH100")
    assert exact["sequences of a device at once"][0] == "128"


def test_each_phase_takes_its_own_hours(run_of):
    whole, short, both = (
        number(
            run_of(f"--config=pretraining/{name}", "--device=v5e-8", *flags)["hours"][0]
        )
        for name, flags in {
            "base": ["--max_predictions_per_seq=77"],
            "base.json": ["--max_seq_length=128"],
            "two_phases": [],
        }.items()
    )
    assert both == pytest.approx(0.9 * short + 0.1 * whole, abs=0.1)


def test_what_does_not_fit_a_device_is_told(run_of):
    flags = ["--albert_config_file=albert/xxlarge_v2", "--train_batch_size=4"]
    table = run_of(*flags, "--device=T4", "--gradient_accumulation_steps=2")
    assert table["accumulation steps that fit"] == ["none", "1"]
    assert table["sequences of a device at once"] == ["not one", "4"]


def test_accumulation_adds_sums_and_divides_the_batch(described):
    lines = described(
        albert_config_file="albert/base_v2",
        train_batch_size=32,
        gradient_accumulation_steps=4,
    )
    # As many rows at once as in the table of base.
    assert lines["masked LM logits"] == ["141.0", "141.0"]
    assert lines["sums of gradients"] == lines["gradients"] == ["45.1", "45.1"]


def test_the_lengths_of_data_count(described, tmp_path):
    data = tmp_path / "official.tfrecord"
    data.write_bytes(b"")
    found = described(albert_config_file="albert/base_v2", input_file=str(data))
    official = {"max_seq_length": 512, "max_predictions_per_seq": 20}
    assert found == described(albert_config_file="albert/base_v2", **official)
    assert found != described(albert_config_file="albert/base_v2")


@pytest.mark.slow
def test_the_speed_of_this_machine_is_measured(run_of):
    table = run_of("--config=pretraining/wikipedia_small", "--device=cpu")
    assert number(table["hours"][0]) > 0
    assert table["accumulation steps that fit"] == ["1", "1"]


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"device": "H900"}, "H900 is unknown; write a GPU"),
        ({"device": "v5e-big"}, "v5e-big is unknown"),
        ({"device": ""}, "a TPU slice"),
        ({"device": "0xT4"}, "0xT4 is unknown"),
        ({"device": "8xT4", "train_batch_size": 12}, "12 does not divide by the 8"),
        ({"max_seq_length": 513}, "exceeds max_position_embeddings"),
    ],
)
def test_what_cannot_be_described_is_refused(described, changes, message):
    with pytest.raises(UserError, match=message):
        described(albert_config_file="albert/base_v2", **changes)


def test_a_generator_is_not_left_out_silently(tmp_path, capsys):
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"objective": "replaced_tokens"}))
    with pytest.raises(SystemExit):
        main(["describe", f"--config={recipe}"])
    assert "generator" in capsys.readouterr().err


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
