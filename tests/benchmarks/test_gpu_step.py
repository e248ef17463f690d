"""The benchmark for GPUs, as far as a CPU can run it."""

import os
import re

import pytest

from benchmarks import gpu_step

_FEW = {"tokens": 8, "batch_size": 2, "predictions": 2}


@pytest.fixture
def without_tensorflow(tmp_path, project, monkeypatch):
    """Sides cannot import TensorFlow, as on a machine that has only JAX."""
    folder = tmp_path / "absent"
    folder.mkdir()
    (folder / "tensorflow.py").write_text("raise ImportError('not needed')\n")
    # And without tests/absent, which hides JAX.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(project)]))


@pytest.mark.nightly
@pytest.mark.usefixtures("without_tensorflow")
def test_own_side_runs(tiny_config, tmp_path, monkeypatch, capsys):
    path = tmp_path / "tiny.json"
    tiny_config(max_position_embeddings=32).to_json_file(path)
    tiny_run = f"{path}:32x4x5"
    monkeypatch.setattr(gpu_step, "_SMALL_BATCH", {**gpu_step._SMALL_BATCH, **_FEW})
    options = gpu_step.Options(runs=tiny_run, rounds=1, steps=1, loss_steps=3)
    found = gpu_step.benchmark(options)
    assert found.keys() == {"losses", tiny_run}
    assert found["losses"] == 0  # the card is the CPU
    assert set(found[tiny_run]) == {"albert_tf"}
    printed = capsys.readouterr().out
    assert "% of the peak" in printed
    (losses,) = re.findall(r"^3 steps in float32, loss (.*) to (.*): ", printed, re.M)
    assert float(losses[0]) > float(losses[1])
