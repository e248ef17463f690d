"""Tokenizers small enough to train in a test, and the official vocabularies."""

import io

import pytest
import sentencepiece

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from tests.vocabularies import byte_bpe

TEXT = [
    "the cat sat on the mat, and the dog barked at the cat in 2000, or 1999.",
    "a quick brown fox jumps over the lazy dog; numbers such as 3.14 are fun!",
    "cafe naive resume: she said (in 1984, no less) that it was fine.",
]


@pytest.fixture(scope="session")
def train_model():
    """Trains a model whose pieces are characters; returns its bytes."""

    def train(**changes):
        writer = io.BytesIO()
        arguments = {
            "sentence_iterator": iter(TEXT),
            "model_writer": writer,
            "vocab_size": 60,
            "model_type": "char",
            "pad_id": 0,
            "unk_id": 1,
            "bos_id": -1,
            "eos_id": -1,
            "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
            "hard_vocab_limit": False,
            "minloglevel": 2,
        }
        sentencepiece.SentencePieceTrainer.Train(**{**arguments, **changes})
        return writer.getvalue()

    return train


@pytest.fixture(scope="session")
def small(train_model):
    """A SentencePiece tokenizer that needs no reference material."""
    return SentencePieceTokenizer(train_model())


@pytest.fixture(scope="session")
def small_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("byte_bpe")
    byte_bpe(folder)
    return folder


@pytest.fixture(scope="session")
def small_bpe(small_files):
    return load_tokenizer(small_files)
