"""The training step that the TPU compiler gets, and recipes as its flags."""

import re

import pytest

from tools.tpu.check import main
from tools.tpu.check import step_flops
from tools.tpu.training_step import TrainingStep
from tools.tpu.training_step import sample_batch


def test_every_recipe_of_pretraining_is_accepted(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    asked = []
    monkeypatch.setattr("tools.tpu.check.tpu_check", asked.append)
    with pytest.raises(SystemExit):
        main(["", "--config=pretraining/xlnet_base"])
    assert "compiles the training step of ALBERT only" in capsys.readouterr().err
    lengths = {}
    for path in project.glob("configs/pretraining/*.json"):
        if not path.stem.endswith("_config") and "xlnet" not in path.stem:
            main(["", f"--config={path}"])
            step_flops(asked[-1])
            made = asked[-1]
            lengths[path.stem] = (made.max_seq_length, made.max_predictions_per_seq)
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
