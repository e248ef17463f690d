"""A recording of reading comprehension."""

import json

import numpy as np
import pytest

from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from tests.tools.verify.squad_recording import SIZES
from tests.tools.verify.squad_recording import recorded_arrays
from tools.verify.recordings import tokenizer_of

QUESTIONS = [
    ("the cat sat on the mat.", [("q1", "cat", [("mat", 19)]), ("q2", "dog", None)]),
    (" a  dog\tran", [("q3", "tree", [("dog", 4)])]),
]


@pytest.fixture
def made(material, tmp_path):
    """A recording, as the official code would leave it, of our own windows."""
    (tmp_path / "spiece.model").write_bytes((material / "vocab.model").read_bytes())
    data = {"data": [{"title": "t", "paragraphs": []}]}
    for context, questions in QUESTIONS:
        qas = [
            {
                "id": identity,
                "question": text,
                "is_impossible": found is None,
                "answers": [{"text": t, "answer_start": s} for t, s in found or ()],
            }
            for identity, text, found in questions
        ]
        data["data"][0]["paragraphs"].append({"context": context, "qas": qas})
    for part in ("dev", "train"):
        (tmp_path / f"set_{part}.json").write_text(json.dumps(data))
    tokenizer = tokenizer_of(tmp_path, None, True)
    [windows] = windows_of(
        read_paragraphs(tmp_path / "set_dev.json"),
        tokenizer,
        WindowSizes(**SIZES),
        {},
        is_training=True,
    )
    assert len(windows) > 3
    facts = {**SIZES, "do_lower_case": True, "dropped": []}
    facts["qids"] = [question.id for question in windows.questions]
    (tmp_path / "features_set.json").write_text(json.dumps(facts))
    np.savez(tmp_path / "features_set.npz", **recorded_arrays(windows))
    return tmp_path, windows
