"""The notebooks run from first cell to last, and their answers are right."""

import re

import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from tools import notebooks

pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

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
# What runs after the last cell.
_RIGHT = {
    "classify_in_five_minutes": """
assert classifier.evaluate(*held_out)["accuracy"] > 0.95
asked = {"a dull film": "sad", "a good plot": "glad", "not a dull film": "glad"}
found = classifier.predict(list(asked))
assert [answer["label"] for answer in found] == list(asked.values())
""",
    "question_answering_served": """
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
    "your_own_corpus": """
first, *_, last = history
assert last["masked_lm_loss"] < first["masked_lm_loss"] - 3
assert last["masked_lm_accuracy"] > 0.25
guess = albert_tf.Predictor("pretrained", task="masked_lm")
(masks,) = guess("Returns the number [MASK] elements in the array.")["masks"]
assert masks[0]["token"] == "▁of"
""",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "classify_in_five_minutes",
        pytest.param("question_answering_served", marks=pytest.mark.nightly),
        pytest.param("your_own_corpus", marks=pytest.mark.nightly),
    ],
)
def test_answers_are_right(name, project, tmp_path, monkeypatch):
    try:
        bundle.open("wikipedia_small")
    except UserError:
        pytest.skip("the package holds no model wikipedia_small")
    monkeypatch.setenv("PYTHONPATH", str(project))  # matplotlib is there
    path = notebooks.FOLDER / f"{name}.ipynb"
    notebooks.executed(path, tmp_path, _COMMANDS_HERE, _RIGHT[name])


def test_every_notebook_has_its_answers_and_outputs_without_noise():
    assert {path.stem for path in notebooks.FOLDER.glob("*.ipynb")} == _RIGHT.keys()
    for name in _RIGHT:
        path = notebooks.FOLDER / f"{name}.ipynb"
        cells = nbformat.read(path, as_version=4).cells
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        assert any("image/png" in output.get("data", {}) for output in outputs)
        shown = "\n".join(output.get("text", "") for output in outputs)
        assert not re.search(r"\r|error: |\boneDNN|\bCUDA|/home/|/tmp/", shown)
