"""Of several equally good sequences of pieces, one is taken everywhere."""

import random

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tokenization import segmentation
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece
from tests.vocabularies import xlnet_pieces

# By sentencepiece 0.2.1; that of 0.2.3 cuts the first seven otherwise.
GOLDEN = {
    "eeeee": "▁ eee ee",
    "eeeeeee": "▁ eee eee e",
    "gattaca": "▁ ga tt ac a",
    "ttagggttaggg": "▁ t ta ggg tt ag gg",
    "gaataattctggatgttccaaacg": "▁ ga a ta at tc tg ga tg tt cc aaa cg",
    "atcctttccgcccacttgccactt": "▁ at cc ttt cc gc cc ac tt g cc ac tt",
    "ttccgtagttatacgtctgccaaa": "▁ tt cc gt ag tt at ac gt ct g cc aaa",
    "rated eee": "▁ ra te d ▁ eee",
    "1000000000": "▁ 10 000 00 000",
    "d41d8cd98f00b204e98": "▁ d4 1d 8c d9 8f 00 b2 04 e 98",
}
TEXTS_OF_A_SEED = 100


def texts_with_ties(seed):
    """Repeated letters and digits, DNA and hashes."""
    rng = random.Random(seed)
    kinds = (
        lambda: rng.choice("0123456789abcdefgrst") * rng.randint(2, 14),
        lambda: "".join(rng.choices("acgt", k=rng.randint(4, 30))),
        lambda: "".join(rng.choices("0123456789abcdef", k=rng.randint(6, 32))),
        lambda: rng.choice("aerst") * rng.randint(2, 5) + rng.choice("ds"),
    )
    return [
        " ".join(rng.choice(kinds)() for _ in range(rng.randint(1, 2)))
        for _ in range(TEXTS_OF_A_SEED)
    ]


@pytest.fixture(scope="module", params=["ALBERT", "XLNet"])
def both(request):
    """A tokenizer of pieces that often tie, and functions of its twin."""
    special = {"ALBERT": {}, "XLNet": {"special": "<cls> <sep> <mask> <pad>"}}
    tokenizer = SentencePieceTokenizer(tie_pieces(**special[request.param]))
    assert tokenizer.model_type == request.param
    return tokenizer, InGraphTokenizer(tokenizer)


def test_ties_are_cut_as_sentencepiece_0_2_1_cut_them(both):
    tokenizer, in_graph = both
    pieces = {text: " ".join(tokenizer.tokenize(text)) for text in GOLDEN}
    assert pieces == GOLDEN
    assert_alike(tokenizer, in_graph, list(GOLDEN))


@given(seed=st.integers(0, 2**63))
def test_ties_are_cut_alike_everywhere(both, seed):
    assert_alike(*both, texts_with_ties(seed))


def test_real_vocabularies(english):
    texts = [text for seed in range(20) for text in texts_with_ties(seed)]
    assert_alike(english, InGraphTokenizer(english), texts)
    assert english.tokenize("rated eee") == ["▁rated", "▁", "ee", "e"]


def assert_alike(tokenizer, in_graph, texts):
    expected = tokenizer.encode_batch(texts)
    assert [tokenizer.encode_with_offsets(text)[0] for text in texts] == expected
    strings = tf.constant(texts)
    assert in_graph(strings).to_list() == expected
    assert in_graph.with_offsets(strings)[0].to_list() == expected


def test_a_library_that_cuts_otherwise_is_refused(monkeypatch):
    class Later(segmentation.sentencepiece.SentencePieceProcessor):
        def EncodeAsPieces(self, text):
            found = super().EncodeAsPieces(text)
            return found if text != "eee" else found[:1] + found[:0:-1]

    monkeypatch.setattr(segmentation.sentencepiece, "SentencePieceProcessor", Later)
    monkeypatch.setattr(segmentation.sentencepiece, "__version__", "0.2.2")
    segmentation.check_library.cache_clear()
    with pytest.raises(UserError, match=r"sentencepiece 0\.2\.2 .*>=0\.2\.0,<0\.2\.2"):
        SentencePieceTokenizer(tie_pieces())
    monkeypatch.undo()
    SentencePieceTokenizer(tie_pieces())


def test_fingerprints_record_the_segmentation_where_there_are_ties(train_model):
    tied = SentencePieceTokenizer(tie_pieces())
    assert tied.segmentation == "sentencepiece 0.2.1"
    assert tied.fingerprint() != tied.earlier_fingerprint()
    for other in (
        SentencePieceTokenizer(train_model()),
        SentencePieceTokenizer(xlnet_pieces("a b")),
        WordPieceTokenizer(wordpiece("ab").encode()),
    ):
        assert other.segmentation is None
        assert other.fingerprint() == other.earlier_fingerprint()


@pytest.mark.parametrize("text", ["", "a", "eee é日本\U0001f600 eé", "\u3000\u00a0x"])
def test_places_are_those_of_the_library(text):
    processor = segmentation.sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(tie_pieces())
    pieces = processor.Encode(text, out_type="immutable_proto").pieces
    expected = [(piece.id, piece.begin, piece.end) for piece in pieces]
    assert segmentation.places(processor, text) == expected
    assert not np.any(np.diff([p[1] for p in expected]) < 0)
