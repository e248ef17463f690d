"""A tokenizer small enough to follow by hand, and recorded windows."""

import pytest

from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tools.verify.recordings import RecordedWindows


@pytest.fixture(scope="session")
def letters(vocabulary):
    """A WordPiece tokenizer whose pieces are words of one letter, or beginnings."""
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789.?唐僧师父悟空的是谁"
    return WordPieceTokenizer(vocabulary([*alphabet, "##s", "##ish"]).encode())


@pytest.fixture
def recorded(shared):
    """Windows as the official code recorded them: `recorded("v1")`."""
    folder = shared("fixtures/official_squad")

    def read(name):
        return RecordedWindows(folder, name).windows()

    return read
