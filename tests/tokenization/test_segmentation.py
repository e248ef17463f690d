"""Of several equally good sequences of pieces, one is taken everywhere."""

import random

import pytest
import sentencepiece
import tensorflow_text
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from albert_tf.tokenization import segmentation
from albert_tf.tokenization import sentencepiece_file as file
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece
from tests.vocabularies import xlnet_pieces

# By sentencepiece 0.2.1; 0.2.3 cuts the first seven otherwise.
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


def texts_with_ties(seed):
    rng = random.Random(seed)
    kinds = (
        lambda: rng.choice("0123456789abcdefgrst") * rng.randint(2, 14),
        lambda: "".join(rng.choices("acgt", k=rng.randint(4, 30))),
        lambda: "".join(rng.choices("0123456789abcdef", k=rng.randint(6, 32))),
        lambda: rng.choice("aerst") * rng.randint(2, 5) + rng.choice("ds"),
    )
    counts = (rng.randint(1, 2) for _ in range(20))
    return [" ".join(rng.choice(kinds)() for _ in range(n)) for n in counts]


@pytest.fixture(scope="module", params=["library", "search"])
def installed(request):
    """A library that cuts as 0.2.1, if it is installed, and another."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "search":
            patch.setattr(segmentation, "_LIBRARY_IS_THE_RULE", False)
        yield


@pytest.fixture
def search(monkeypatch):
    """Unigram models are cut by the search, whatever is installed."""
    monkeypatch.setattr(segmentation, "_LIBRARY_IS_THE_RULE", False)


@pytest.fixture(scope="module", params=["ALBERT", "XLNet"])
def both(request, installed):
    """A tokenizer of pieces that often tie, and functions of its twin."""
    special = {"ALBERT": {}, "XLNet": {"special": "<cls> <sep> <mask> <pad>"}}
    tokenizer = SentencePieceTokenizer(tie_pieces(**special[request.param]))
    assert tokenizer.model_type == request.param
    return tokenizer, traced(twin(tokenizer))


@pytest.mark.slow
def test_ties_are_cut_as_sentencepiece_0_2_1_cut_them(both):
    tokenizer, in_graph = both
    pieces = {text: " ".join(tokenizer.tokenize(text)) for text in GOLDEN}
    assert pieces == GOLDEN
    check(tokenizer, list(GOLDEN), in_graph)
    # The sum before a word can decide its cut.
    letters = random.Random(1)
    words = ["".join(letters.choices("acgt", k=8)) for _ in range(1000)]
    alone = [index for word in words for index in tokenizer.encode(word)]
    assert tokenizer.encode(" ".join(words)) != alone
    check(tokenizer, [" ".join(words), "".join(words)], in_graph)


@pytest.mark.slow
@given(seed=st.integers(0, 2**63))
def test_ties_are_cut_alike_everywhere(both, seed):
    check(both[0], texts_with_ties(seed), both[1])


@pytest.mark.slow
def test_real_vocabularies(english, search):
    english = SentencePieceTokenizer(english.file_bytes)
    texts = [text for seed in range(20) for text in texts_with_ties(seed)]
    check(english, texts)
    assert english.tokenize("rated eee") == ["▁rated", "▁", "ee", "e"]


def test_a_library_that_cuts_otherwise_changes_nothing(search, monkeypatch):
    class Later(sentencepiece.SentencePieceProcessor):
        def Encode(self, text, **options):
            raise AssertionError("asked for a cut")

        EncodeAsPieces = EncodeAsIds = encode = Encode

    monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", Later)
    tokenizer = SentencePieceTokenizer(tie_pieces())
    assert {text: " ".join(tokenizer.tokenize(text)) for text in GOLDEN} == GOLDEN
    check(tokenizer, list(GOLDEN))


def test_unused_pieces_of_other_models_are_refused(train_model):
    model = file.ModelProto.FromString(train_model())
    model.pieces[-1].type = file.UNUSED
    with pytest.raises(UserError, match="x.model has unused pieces, which versions"):
        SentencePieceTokenizer(model.SerializeToString(), source="x.model")


def odd_model(seed):
    rng = random.Random(seed)
    model = file.ModelProto()
    model.trainer_spec.byte_fallback = seed % 3 == 0
    model.pieces.add(piece="<unk>", type=file.UNKNOWN)
    for piece in ("[CLS]", "[SEP]", "[MASK]", "<pad>"):
        model.pieces.add(piece=piece, type=file.CONTROL)
    for byte in range(256 if seed % 3 == 0 else 0):
        model.pieces.add(piece=f"<0x{byte:02X}>", type=file.BYTE)
    pieces = {"".join(rng.choices("ab\u65e5", k=rng.randint(1, 4))) for _ in range(40)}
    if seed % 4:
        pieces.add("\u2581")
    if seed % 5 == 0:
        pieces.add("a\u2581b")
    kinds = (file.NORMAL, file.USER_DEFINED, file.UNUSED)
    for piece in sorted(pieces):
        score = -0.37 * rng.randint(1, 9) * (-0.1 if seed % 7 == 0 else 1)
        (kind,) = rng.choices(kinds, (8, 1, 1))
        model.pieces.add(piece=piece, score=score, type=kind)
    texts = ["".join(rng.choices("ab\u65e5 x", k=k)) for k in (1, 9, 9, 40, 300, 3000)]
    return model.SerializeToString(), texts


_MORE = [pytest.param(n, marks=pytest.mark.nightly) for n in range(8, 20)]


@pytest.mark.parametrize("seed", [0, 1, 5, 7, *_MORE])
def test_models_of_every_type_of_piece(seed):
    data, texts = odd_model(seed)
    cutter = segmentation.Unigram(*file.load(data, "odd"))
    theirs = tensorflow_text.SentencepieceTokenizer(data)
    ids, starts, ends = theirs.tokenize_with_offsets(texts)
    assert cutter.rows(texts) == ids.to_list()
    for row, text in enumerate(texts):
        places = cutter.places(text)
        assert [index for index, _, _ in places] == ids[row].numpy().tolist()
        for side, bytes_ in ((1, starts), (2, ends)):
            found = [len(text[: place[side]].encode()) for place in places]
            assert found == bytes_[row].numpy().tolist()
        spelt = [index for index, _ in cutter.pieces(text)]
        assert spelt == ids[row].numpy().tolist()


def test_fingerprints_record_the_segmentation_where_there_are_ties(train_model):
    tied = SentencePieceTokenizer(tie_pieces())
    assert tied.segmentation == "sentencepiece 0.2.1"
    earlier, now = tied.earlier_fingerprints()
    assert earlier != now == tied.fingerprint()
    for other in (
        SentencePieceTokenizer(train_model()),
        SentencePieceTokenizer(xlnet_pieces("a b")),
        WordPieceTokenizer(wordpiece("ab").encode()),
    ):
        assert other.segmentation is None
        assert [*other.earlier_fingerprints()] == [other.fingerprint()]
