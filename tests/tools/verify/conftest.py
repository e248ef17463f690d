"""A recording of reading comprehension."""

import pytest

from tests.tools.verify.squad_recording import record

QUESTIONS = [
    ("the cat sat on the mat.", [("q1", "cat", [("mat", 19)]), ("q2", "dog", None)]),
    (" a  dog\tran", [("q3", "tree", [("dog", 4)])]),
]


@pytest.fixture
def made(material, tmp_path):
    """A recording, as the official code would leave it, of our own windows."""
    (tmp_path / "spiece.model").write_bytes((material / "vocab.model").read_bytes())
    windows = record(tmp_path, QUESTIONS)
    assert len(windows) > 3
    return tmp_path, windows
