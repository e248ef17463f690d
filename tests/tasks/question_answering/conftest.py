"""Questions and tokenizers small enough to follow by hand."""

import json

import pytest

from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from albert_tf.verify.squad_recordings import read_windows


@pytest.fixture(scope="session")
def letters():
    """A WordPiece tokenizer whose pieces are words of one letter, or beginnings."""
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789.?唐僧师父悟空的是谁"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *alphabet, "##s", "##ish"]
    return WordPieceTokenizer("\n".join(pieces).encode())


@pytest.fixture
def squad(tmp_path):
    """Writes a file in SQuAD's layout from (context, [(id, question, answers)]).

    Answers are (text, start); None marks a question as impossible.
    """

    def write(*paragraphs, name="squad.json", **members):
        written = []
        for context, questions in paragraphs:
            qas = []
            for identity, question, answers in questions:
                qas.append({"id": identity, "question": question})
                qas[-1]["answers"] = [
                    {"text": text, "answer_start": start}
                    for text, start in answers or []
                ]
                if answers is None:
                    qas[-1]["is_impossible"] = True
            written.append({"context": context, "qas": qas})
        data = [{"title": "A title", "paragraphs": written}]
        path = tmp_path / name
        path.write_text(json.dumps({**members, "data": data}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def recorded(shared):
    """Windows as the official code recorded them: `recorded("v1")`."""
    folder = shared("fixtures/official_squad")

    def read(name):
        return read_windows(folder, name).windows()

    return read
