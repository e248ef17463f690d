"""Whoever builds a package on this one: types, a task of one's own, scikit-learn."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_MODULE = '''
"""A package's own module."""

import albert_tf


def label(texts: list[str], labels: list[str], text: str) -> str:
    """Returns the label that a classifier gives a text."""
    classifier = albert_tf.TextClassifier("wikipedia_small", max_length=16)
    classifier.fit(texts, labels, epochs=8, learning_rate=2e-3)
    return classifier.predict(text)["label"]
'''
_USE = """
import mine, text_length
from albert_tf.tasks.registry import create_task
print(create_task("text_length", "mine").output_names)
texts = ["a fine film", "a good film", "a dull film", "a bad film"]
print(mine.label(texts, ["glad", "glad", "sad", "sad"], "a good film"))
"""


def test_a_package_of_ones_own(newcomer, project, environment):
    pages = (project / "docs" / "extending.md").read_text("utf-8")
    (task,) = re.findall(r"<!-- task -->\n```python\n(.*?)```", pages, re.DOTALL)
    (newcomer.folder / "text_length.py").write_text(task)
    (newcomer.folder / "mine.py").write_text(_MODULE)
    printed = newcomer.runs(_USE).splitlines()
    assert [printed[0], printed[-1]] == ["('words',)", "glad"], printed
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "mine.py"]
        + ["--python-executable", environment / "python"],
        cwd=newcomer.folder,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
