"""The describe command and its estimates."""

import re

import pytest

from albert_tf.commands.describe import main
from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.albert import training_flops
from albert_tf.costs.albert import training_memory


@pytest.fixture
def described(capsys):
    """Runs a command line: the numbers of each line that it prints by their name."""

    def run(flags):
        main(["describe", *flags.split()])
        rows = (re.split("  +", line) for line in capsys.readouterr().out.splitlines())
        return {name: numbers for name, *numbers in rows}

    return run


def test_tables_of_models(described):
    lines = described("--albert_config_file=albert/base_v2")
    assert lines["encoder"] == ["11,683,584"]
    assert lines["with the pretraining heads"] == ["11,813,810"]
    assert lines["attention projections"] == ["51.90", "103.81"]
    assert lines["feed-forward"] == ["103.81", "207.62"]
    assert lines["total, rematerialised"] == ["178.79", "543.65"]
    # 15% of 512 positions are projected: 77 * 8 logits and their gradients.
    assert lines["masked LM logits"] == ["141.0", "141.0"]
    plain, saving = (float(total.replace(",", "")) for total in lines["total"])
    assert plain > 1.5 * saving
    lines = described("--albert_config_file=xlnet/base --max_predictions_per_seq=85")
    assert lines["encoder"] == ["116,718,336"]
    assert lines["with the pretraining heads"] == ["116,750,336"]
    # 384 tokens of width 768 in 12 layers and 8 rows, before the step and after it.
    assert lines["memory of earlier segments"] == ["216.0", "216.0"]
    # Accumulation adds sums: as many rows at once as in the table of base.
    batch = "--train_batch_size=32 --gradient_accumulation_steps=4"
    lines = described(f"--albert_config_file=albert/base_v2 {batch}")
    assert lines["masked LM logits"] == ["141.0", "141.0"]
    assert lines["sums of gradients"] == lines["gradients"] == ["45.1", "45.1"]
    lines = described(f"--albert_config_file=albert/base_v2 {batch} --batch_size=4")
    assert lines["masked LM logits"] == ["70.5", "70.5"]


def hours(table):
    return float(table["hours"][0].replace(",", ""))


def test_a_recipe_on_devices(described):
    flags = "--config=pretraining/base --mixed_precision=bfloat16"
    table = described(f"{flags} --device=8xH100")
    # The larger of the two halves of 95 GB fits, one whole batch of 512 rows does not.
    assert table["accumulation steps that fit"] == ["2", "1"]
    assert table["sequences of a device at once"] == ["256", "512"]
    config = AlbertConfig.released("base_v1")
    sizes = {"batch_size": 256, "length": 512, "predictions": 20}
    memory = training_memory(config, **sizes, activation_bytes=2)
    used = sum(memory.values()) + memory["gradients"]
    assert table["GB of its memory"][0] == f"{used / 1e9:.1f}"
    rate = 0.4 * 8 * 989.4e12 / training_flops(forward_flops(config, 512, 20))
    told = table["tokens/s at 40% of the peak"][0].replace(",", "")
    assert float(told) == pytest.approx(rate, 1e-4)
    expected = 4096 * 125_000 * 512 / rate / 3600
    assert table["hours"][0] == f"{expected:,.1f}"
    slower = described(f"{flags} --device=8xH100 --utilization=0.2")
    assert hours(slower) == pytest.approx(2 * expected, abs=0.06)
    one = described(f"{flags} --device=H100")
    assert hours(one) == pytest.approx(8 * expected, abs=0.06)
    exact = described("--config=pretraining/base --device=8xH100")
    assert exact["sequences of a device at once"][0] == "128"
    wide = "--albert_config_file=albert/xxlarge_v2 --train_batch_size=4 --device=T4"
    table = described(f"{wide} --gradient_accumulation_steps=2")
    assert table["accumulation steps that fit"] == ["none", "1"]
    assert table["sequences of a device at once"] == ["not one", "4"]


def test_each_phase_takes_its_own_hours(described):
    whole, short, both = (
        hours(described(f"--device=v5e-8 --config=pretraining/{flags}"))
        for flags in (
            "base --max_predictions_per_seq=77",
            "base --max_seq_length=128",
            "two_phases",
        )
    )
    assert both == pytest.approx(0.9 * short + 0.1 * whole, abs=0.1)


@pytest.mark.slow
def test_the_speed_of_this_machine_is_measured(described):
    table = described("--config=pretraining/wikipedia_small --device=cpu")
    assert hours(table) > 0
    assert table["accumulation steps that fit"] == ["1", "1"]


def test_a_generator_is_not_left_out_silently(tmp_path, capsys):
    (tmp_path / "recipe.json").write_text('{"objective": "replaced_tokens"}')
    with pytest.raises(SystemExit):
        main(["describe", f"--config={tmp_path / 'recipe.json'}"])
    assert "generator" in capsys.readouterr().err
