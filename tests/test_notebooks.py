"""The notebooks run from first cell to last, with the commands of the package."""

import os
import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "notebooks"
_REPRESENTATIVE = "classify_in_five_minutes"
# The commands of the shell run in the kernel, which has imported TensorFlow already;
# `tests/test_wheel.py` starts them as programs.
_COMMANDS_HERE = """
import shlex
from albert_tf.cli import commands
def system(line, others=get_ipython().system):
    words = shlex.split(line)
    if words[0] != "albert-tf":
        return others(line)
    commands.main(words)
get_ipython().system = system
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.nightly] * (path.stem != _REPRESENTATIVE))
        for path in sorted(_FOLDER.glob("*.ipynb"))
    ],
    ids=lambda path: path.stem,
)
def test_runs(path, project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(project), prepend=os.pathsep)
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_COMMANDS_HERE))
    work = tmp_path / "work"
    work.mkdir()
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(work)}}
    ).execute()
    printed = [
        output.get("text", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    # A shell's command that fails ends no cell.
    assert not [text for text in printed if text.startswith("error: ")]
    assert "error: " not in "\n".join(printed)
