"""The benchmark for GPUs, as far as a CPU can run it."""

import dataclasses
import os
import re
import zipfile

import pytest

from albert_tf.errors import UserError
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


@pytest.fixture
def tiny_run(tiny_config, tmp_path):
    path = tmp_path / "tiny.json"
    tiny_config(max_position_embeddings=32).to_json_file(path)
    return f"{path}:32x4x5"


@pytest.mark.slow
@pytest.mark.usefixtures("without_tensorflow")
def test_own_side_runs(tiny_run, monkeypatch, capsys):
    monkeypatch.setattr(gpu_step, "_SMALL_BATCH", {**gpu_step._SMALL_BATCH, **_FEW})
    options = gpu_step.Options(
        runs=tiny_run, rounds=1, steps=1, loss_steps=3, peak_tflops=1.0
    )
    found = gpu_step.benchmark(options)
    assert found.keys() == {"losses", tiny_run}
    assert found["losses"] == 0  # the card is the CPU
    assert set(found[tiny_run]) == {"albert_tf"}
    printed = capsys.readouterr().out
    assert "device: cpu" in printed
    assert "% of the peak" in printed
    (losses,) = re.findall(r"^3 steps in float32, loss (.*) to (.*): ", printed, re.M)
    assert float(losses[0]) > float(losses[1])


def test_wheels_are_installed(tiny_run, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "found-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("found.py", "")
        folder = "found-1.dist-info"
        wheel.writestr(
            f"{folder}/METADATA", "Metadata-Version: 2.1\nName: found\nVersion: 1\n"
        )
        wheel.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{folder}/RECORD", "")
    there = []

    def measure(_, config, batch, packages):
        there.append(os.listdir(packages["PYTHONPATH"].split(os.pathsep)[0]))
        return {}, []

    monkeypatch.setattr(gpu_step, "_measure", measure)
    options = gpu_step.Options(runs=tiny_run, loss_steps=0, wheels=str(tmp_path))
    gpu_step.benchmark(options)
    assert "found.py" in there[0]
    (tmp_path / "broken-1-py3-none-any.whl").write_bytes(b"no wheel")
    with pytest.raises(UserError, match="cannot be installed"):
        gpu_step.benchmark(options)
    with pytest.raises(UserError, match="holds no wheels"):
        gpu_step.benchmark(dataclasses.replace(options, wheels=str(tmp_path / "x")))


@pytest.mark.parametrize("run", ["base_v2", "base_v2:512x8", "huge:512x8x77"])
def test_refuses_other_runs(run):
    with pytest.raises(UserError, match="runs|huge"):
        gpu_step.benchmark(gpu_step.Options(runs=run, loss_steps=0))


def test_an_interpreter_that_cannot_run_a_side_is_named(tiny_run):
    options = gpu_step.Options(runs=tiny_run, loss_steps=0, jax_python="false")
    with pytest.raises(
        UserError, match="^false -m benchmarks.sides.albert_tf_jax ended"
    ):
        gpu_step.benchmark(options)
