"""The notebooks run from first cell to last, with the commands of the package."""

import os
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

_NAMES = ["your_own_corpus", "classify_in_five_minutes", "question_answering_served"]


@pytest.fixture
def program(project, tmp_path):
    """`albert-tf` of the checkout, for the shell of a notebook; returns its folder."""
    folder = tmp_path / "programs"
    folder.mkdir()
    path = folder / "albert-tf"
    path.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m albert_tf.cli.commands "$@"\n'
    )
    path.chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_runs(name, project, program, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{program}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(project))
    notebook = nbformat.read(project / "notebooks" / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
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


def test_every_notebook_is_run(project):
    found = {path.stem for path in (project / "notebooks").glob("*.ipynb")}
    assert found == set(_NAMES)
