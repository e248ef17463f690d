"""Whoever wants a classifier, of a table or in Python, their own task, or a search."""

import csv
import itertools
import re
import subprocess
import sys

import numpy as np
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
print(classifier.predict("a fine plot")["label"])
import text_length
from albert_tf.tasks.registry import create_task
print(create_task("text_length", "mine").output_names)
"""


def test_a_classifier_and_a_task_of_ones_own(newcomer, project, environment):
    pages = (project / "docs" / "extending.md").read_text("utf-8")
    (task,) = re.findall(r"<!-- task -->\n```python\n(.*?)```", pages, re.DOTALL)
    (newcomer.folder / "text_length.py").write_text(task)
    (newcomer.folder / "mine.py").write_text(_MODULE)
    code = newcomer.block("README.md", "In Python", "python")
    assert newcomer.runs(code + _USE).splitlines()[-2:] == ["glad", "('words',)"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "mine.py"]
        + ["--python-executable", environment / "python"],
        cwd=newcomer.folder,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout


_TEXTS = [
    "The army fought a long war against the empire.",
    "The song was released as a single and won an award.",
    "Plants and animals live in the forest.",
    "The university has a department of physics.",
]
_SEARCH = """
texts = open("texts.txt").read().splitlines()
for query in ("the album sold a million copies", "the war and its battles"):
    print(embedder.search(query, texts, k=1)[0]["index"])
"""


def test_the_nearest_text(newcomer):
    (newcomer.folder / "texts.txt").write_text("\n".join(_TEXTS) + "\n")
    code = newcomer.block("docs/vectors.md", "Apply", "python") + _SEARCH
    printed = newcomer.types(newcomer.block("docs/vectors.md", "Apply"), first=code)
    assert printed.split()[:2] == ["1", "0"]
    vectors = np.load(newcomer.folder / "vectors.npy")
    assert vectors.shape[0] == len(_TEXTS) and vectors.dtype == np.float32


_MESSAGES = {
    "complaint": (
        ["my parcel", "the order", "the letter", "my new phone"],
        ["is lost", "arrived broken", "never came", "does not work"],
    ),
    "praise": (
        ["thanks for", "i love", "what a pleasure,", "many thanks for"],
        ["the quick help", "your kind answer", "this great shop", "the fast delivery"],
    ),
    "question": (
        ["when do you", "do you", "at what time do you", "why do you"],
        ["open on sunday", "close on monday", "deliver to france", "take cash"],
    ),
}
_FASTER = {
    "init_checkpoint": "wikipedia_small",
    "max_seq_length": 24,
    "train_batch_size": 8,
    "num_train_epochs": 5,
    "learning_rate": 2e-3,
    "use_xla": "false",
}


def test_a_csv_becomes_a_classifier(newcomer):
    with (newcomer.folder / "messages.csv").open("w", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(["text", "label"])
        for label, halves in _MESSAGES.items():
            texts = map(" ".join, itertools.product(*halves))
            rows.writerows((text, label) for text in texts)
    train = newcomer.block("docs/finetuning.md", "One table")
    ask = 'albert-tf classify --output_dir=out --do_predict --input_text="{}"'
    asked = ["my bag arrived broken", "do you open on monday"]
    printed = newcomer.types(
        "\n".join([train, *map(ask.format, asked)]), {"classify": _FASTER}
    )
    assert re.search(r"complaint[\s\S]*question", printed), printed
    scores = (newcomer.folder / "out" / "eval_results.txt").read_text()
    accuracy = re.search(r"^eval_accuracy = (.*)", scores, re.MULTILINE)[1]
    assert float(accuracy) == 1
