"""Whoever has a table of messages gets a classifier that answers."""

import csv
import itertools
import re

import pytest

pytestmark = pytest.mark.slow

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
