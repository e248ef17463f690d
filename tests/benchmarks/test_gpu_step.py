"""The benchmark for GPUs, as far as a CPU can run it."""

import importlib.util

import pytest

from albert_tf.errors import UserError
from benchmarks import gpu_step


def test_own_side_runs(tiny_config, tmp_path, capsys):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    path = tmp_path / "tiny.json"
    tiny_config(max_position_embeddings=32).to_json_file(path)
    run = f"{path}:32x4x5"
    options = gpu_step.Options(runs=run, rounds=1, steps=1, peak_tflops=1.0)
    found = gpu_step.benchmark(options)
    assert set(found[run]) == {"albert_tf"}
    printed = capsys.readouterr().out
    assert "device: cpu" in printed
    assert "% of the peak" in printed


@pytest.mark.parametrize("run", ["base_v2", "base_v2:512x8", "huge:512x8x77"])
def test_refuses_other_runs(run):
    with pytest.raises(UserError, match="runs|huge"):
        gpu_step.benchmark(gpu_step.Options(runs=run))
