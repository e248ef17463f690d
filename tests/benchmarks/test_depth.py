"""The benchmark of the depth loop and rematerialisation prints every figure."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks import depth


@pytest.mark.nightly
def test_prints_every_figure(project, tmp_path):
    # A process of its own: XLA writes its buffers down only if asked at the start.
    command = [sys.executable, "-m", "benchmarks.depth"]
    command += ["--layers=2", "--hidden_size=64", "--max_seq_length=64", "--steps=1"]
    figures = tmp_path / "figures.json"
    command += ["--batch_size=8", f"--figures_file={figures}"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    output = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True
    )
    assert output.returncode == 0, output.stderr
    rows = json.loads(figures.read_text())["rows"]
    memory = {form: row[-1] for form, *row in rows}
    assert len(rows) == len(depth.FORMS)
    assert memory["unrolled, rematerialised"] < memory["unrolled"]
    assert memory["loop, rematerialised"] < memory["loop"]
