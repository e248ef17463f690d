"""Runs the notebooks from first cell to last, and stores their outputs in them.

  python -m tools.notebooks --only=classify

Each runs in an empty folder of its own. Run it after a change that notebooks show; it
needs what the tests need (`pip install -e '.[test]'`).
"""

import dataclasses
import pathlib
import re
import tempfile

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option

# TensorFlow logs to the kernel's standard error what it did not find on this machine.
_NOISE = re.compile(r"(?m)^(WARNING: All log|[IWE]\d{4} |To enable the following).*\n?")
_PROJECT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = _PROJECT / "notebooks"


@dataclasses.dataclass(frozen=True)
class Options:
    only: str = option("Part of the names of the notebooks to run; all by default.", "")


def executed(path, folder, before=None, after=None):
    """Runs a notebook, and returns it with its outputs.

    Args:
        path: the notebook's file, which stays as it is.
        folder: the folder in which it runs.
        before: code that runs before the first cell.
        after: code that runs after the last cell.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    if before is not None:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(before))
    if after is not None:
        notebook.cells.append(nbformat.v4.new_code_cell(after))
    nbclient.NotebookClient(
        notebook,
        timeout=600,
        coalesce_streams=True,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return notebook


def store_outputs(options):
    """Runs the notebooks that the options name, and replaces their outputs."""
    import nbformat

    for path in sorted(FOLDER.glob(f"*{options.only}*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, folder)
        notebook.metadata.language_info = {"name": "python"}
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [*filter(None, map(_without_noise, cell.outputs))]
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(path.name)


def _without_noise(output):
    """Returns a cell's output without what is of this machine; None if it is empty."""
    if output.get("name") == "stderr":
        output.text = _NOISE.sub("", output.text).replace(f"{_PROJECT}/", "")
        return output if output.text.strip() else None
    return output


if __name__ == "__main__":
    command_line.run(Options, store_outputs)
