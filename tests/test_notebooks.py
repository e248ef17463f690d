"""The notebooks run from first cell to last, and their answers are right."""

import re

import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from tools import notebooks

pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

_REPRESENTATIVE = "classify_in_five_minutes"
# The commands of the shell run in the kernel, which has imported TensorFlow already;
# `tests/test_wheel.py` starts them as programs.
_COMMANDS_HERE = """
import shlex
from albert_tf.cli import commands
def bash(line, cell):
    for command in cell.replace("\\\\\\n", "").splitlines():
        commands.main(shlex.split(command))
get_ipython().register_magic_function(bash, "cell")
"""
# What runs after the last cell, and what stands among the outputs in the file.
_RIGHT = {
    "classify_in_five_minutes": (
        """
assert classifier.evaluate(*held_out)["accuracy"] > 0.95
asked = {"a dull film": "sad", "a good plot": "glad", "not a dull film": "glad"}
found = classifier.predict(list(asked))
assert [answer["label"] for answer in found] == list(asked.values())
""",
        r"a dull film +sad +(0\.9|1)",
    ),
    "question_answering_served": (
        """
asked = {
    "Who took the lamp?": "Emma",
    "What did Emma take?": "the brown lamp",
    "Where is the lamp now?": "the museum",
    "Where was it foggy?": "Dublin",
}
found = {question: predictor(question, text) for question in asked}
assert {q: answer["answer"] for q, answer in found.items()} == asked
assert min(answer["answers"][0]["score"] for answer in found.values()) > 0.5
""",
        r"Where is the lamp now\? +the museum +(0\.9|1)",
    ),
    "your_own_corpus": (
        """
first, *_, last = history
assert last["masked_lm_loss"] < first["masked_lm_loss"] - 3
assert last["masked_lm_accuracy"] > 0.25
guess = albert_tf.Predictor("pretrained", task="masked_lm")
(masks,) = guess("Returns the number [MASK] elements in the array.")["masks"]
assert masks[0]["token"] == "▁of"
""",
        r"number .MASK. elements in the array.\n +0\.[5-9]\d* +▁of",
    ),
}


def _paths():
    return sorted(notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.nightly] * (path.stem != _REPRESENTATIVE))
        for path in _paths()
    ],
    ids=lambda path: path.stem,
)
def test_answers_are_right(path, project, tmp_path, monkeypatch):
    try:
        bundle.open("wikipedia_small")
    except UserError:
        pytest.skip("the package holds no model wikipedia_small")
    monkeypatch.setenv("PYTHONPATH", str(project))  # matplotlib is there
    notebooks.executed(path, tmp_path, _COMMANDS_HERE, _RIGHT[path.stem][0])


@pytest.mark.parametrize("path", _paths(), ids=lambda path: path.stem)
def test_outputs_are_stored_without_noise(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    outputs = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    shown = "\n".join(output.get("text", "") for output in outputs)
    assert re.search(_RIGHT[path.stem][1], shown)
    assert not re.search(r"\r|error: |\boneDNN|\bCUDA|/home/|/tmp/", shown)
    assert path.stat().st_size < 100_000
