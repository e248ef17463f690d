"""The TPU compiler takes the training step, where its packages are installed."""

import dataclasses
import importlib.util
import json
import re

import pytest

from tools.tpu.check import TpuCheckOptions
from tools.tpu.check import largest_batch
from tools.tpu.check import main
from tools.tpu.check import step_flops
from tools.tpu.check import tpu_check
from tools.tpu.compiler import TpuProgram
from tools.tpu.training_step import TrainingStep
from tools.tpu.training_step import sample_batch

needs_the_compiler = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("jax", "libtpu"))),
    reason="the TPU compiler is not installed: pip install 'albert-tf[tpu_check]'",
)


@pytest.fixture
def options(tiny_config, tmp_path):
    """Makes flags for a tiny configuration."""
    path = tmp_path / "config.json"
    tiny_config(num_hidden_layers=3).to_json_file(path)

    def make(**changes):
        sizes = {"batch_size": 2, "max_seq_length": 8, "max_predictions_per_seq": 3}
        return TpuCheckOptions(albert_config_file=str(path), **{**sizes, **changes})

    return make


@pytest.fixture
def recipe(tmp_path):
    """A recipe of pretraining in two phases."""
    path = tmp_path / "recipe.json"
    values = {
        "//": "a comment",
        "albert_config_file": str(tmp_path / "config.json"),
        "max_seq_length": 4,
        "max_predictions_per_seq": 1,
        "train_batch_size": 4096,
        "optimizer": "adamw",
        "mixed_precision": "bfloat16",
        "depth_loop": True,
        "rematerialize": True,
        "first_phase_steps": 10,
        "second_phase_max_seq_length": 8,
        "second_phase_max_predictions_per_seq": 3,
    }
    path.write_text(json.dumps(values))
    return path


@pytest.fixture
def options_from(monkeypatch):
    """Reads a command line without following it."""

    def read(argv):
        found = []
        monkeypatch.setattr("tools.tpu.check.tpu_check", found.append)
        main(argv)
        return found[0]

    return read


def printed_rows(capsys):
    lines = capsys.readouterr().out.splitlines()
    return {line[:32].strip(): line[32:] for line in lines}


@needs_the_compiler
def test_the_step_compiles(options, recipe, capsys):
    tpu_check(options())
    plain = printed_rows(capsys)
    main(["", f"--config={recipe}", "--batch_size=2", "--quick"])
    looped = printed_rows(capsys)
    assert plain["compiles"] == looped["compiles"] == "yes"
    assert "counts once" not in plain["TFLOP, by the compiler"]
    assert "counts once" in looped["TFLOP, by the compiler"]
    assert float(plain["tracing and compiling, s"]) > 0


def test_a_recipe_is_read_as_flags(options, options_from, recipe, capsys):
    expected = options(
        batch_size=16,
        optimizer="adamw",
        mixed_precision="bfloat16",
        depth_loop=True,
        rematerialize=True,
    )
    assert options_from(["", f"--config={recipe}"]) == expected
    command = ["", "--optimizer=lamb", "--noremat", "--mixed_precision", "float32"]
    changed = options_from([*command, f"--config={recipe}"])
    assert changed == dataclasses.replace(
        expected,
        optimizer="lamb",
        mixed_precision="float32",
        rematerialize=False,
    )
    with pytest.raises(SystemExit):
        options_from(["", "--config=pretraining/xlnet_base"])
    assert "compiles the training step of ALBERT only" in capsys.readouterr().err


def test_every_recipe_of_pretraining_is_accepted(options_from, project, monkeypatch):
    monkeypatch.chdir(project)
    lengths = {}
    for path in project.glob("configs/pretraining/*.json"):
        if not path.stem.endswith("_config") and "xlnet" not in path.stem:
            found = options_from(["", f"--config={path}"])
            step_flops(found)
            lengths[path.stem] = (found.max_seq_length, found.max_predictions_per_seq)
    expected = {"base": (512, 20), "two_phases": (512, 77), "tiny": (64, 10)}
    assert expected.items() <= lengths.items()


@pytest.mark.slow
def test_the_program_updates_the_weights_in_place(tiny_config):
    step = TrainingStep(tiny_config(num_hidden_layers=2), depth_loop=True)
    batch = sample_batch(2, 8, 3)
    hlo = step.function.experimental_get_compiler_ir(batch)(stage="hlo")
    weights = len(step.model.trainable_variables)
    (aliases,) = re.findall(r"input_output_alias=\{(.*?) \}, entry", hlo)
    # Weights, two moments of each, the number of steps, and counters.
    assert aliases.count("may-alias") >= 3 * weights + 1


@pytest.mark.parametrize("start", [8, 300])
def test_largest_batch(start):
    asked = []

    def compile_batch(size):
        asked.append(size)
        used = 1000 + 7 * size
        if used <= 1700:
            return TpuProgram(used_bytes=used)
        return TpuProgram(used_bytes=used, available_bytes=1700)

    fits, fails = largest_batch(compile_batch, start)
    assert fits in asked and fails in asked
    assert fits <= 100 < fails <= fits + max(1, fits // 8)
    assert len(asked) == len(set(asked)) < 12
