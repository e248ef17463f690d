"""In-graph twins give the same ids and places, of long texts for little memory."""

import random
import re
import unicodedata

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.tokenization.in_graph.origins import stretches
from albert_tf.tokenization.in_graph.origins import text_numbers
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.normalization import sentencepiece_text
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece
from tools.fuzz.inputs import CHARACTERS
from tools.fuzz.inputs import TEXTS_WITH_NUL

KINDS = ["ties", "wordpiece", "accents"]
MORE_KINDS = ["char", "char cased", "bpe", "accents cased"]
MORE_KINDS += ["marked words", "stripped words"]
TRICKY = [
    "",
    "  \t ",
    "  The  café\u0301 ﬁne ½ cup, 92000, 日本 x",
    "a\u0301\u0302 b \u0301c \u0301\u0302",
    "\u0301\u0302a x \u0301",
    "Σίσυφος ΟΔΟΣ Ⱥb ẞ İx",
    "the\u200bcat \ufeffsat\u200d \u200d\u200d",
    "in 2000, or 1999, 3.14, 12,34,",
    "三藏\u200b Café  English words ½",
    "e" * 201 + " e " + "e" * 200,
    "[SEP] [CLS] <pad> ▁ \ufffd",
    "\u0301 cat \u0308 \u0301\u0302 dog \u0301",
    "the\ufffd \ufffdcat\x01\x02 \x7fsat▁on \u00adthe\u200c \u200dmat\x8f \x01",
    "👨\u200d👩\u200d👧 서울은 \u0e01\u0e33",
    "``İ İ''' ẞ'' ``\u0301 ' `` é mo\u0306й क्\u200dया می\u200cروم が か\u3099",
    "page\x0c\0 co\xadop \0\0ﬃ ``\0''\0' \ue000 A\0Σ\0 \uf0b7\0",
]


BATCHES = st.lists(TEXTS_WITH_NUL, min_size=1, max_size=6)
# Pieces that may match what is drawn as texts, and some that never can.
STEMS = st.text(st.sampled_from([*"aeσi20日本,e\u0301"]), max_size=3)
PIECES = STEMS | STEMS.map("##{}".format) | CHARACTERS


@pytest.fixture(
    scope="module",
    params=[*KINDS, *(pytest.param(k, marks=pytest.mark.nightly) for k in MORE_KINDS)],
)
def both(request, train_model):
    kind, _, cased = request.param.partition(" ")
    if request.param == "ties":
        tokenizer = SentencePieceTokenizer(tie_pieces())
    elif kind == "accents":
        model = train_model(
            sentence_iterator=iter(TRICKY),
            normalization_rule_name="identity" if cased else "nmt_nfkc",
            vocab_size=200,
            character_coverage=1.0,
        )
        rules = TextRules(keep_accents=True, joins_quotes=True)
        tokenizer = SentencePieceTokenizer(model, not cased, rules=rules)
    elif kind in ("char", "bpe"):
        model = train_model(model_type=kind, vocab_size=60 if kind == "char" else 80)
        tokenizer = SentencePieceTokenizer(model, do_lower_case=not cased)
    else:
        letters = "abcdefghijklmnopqrstuvwxyzσςı0123456789,日本三藏éİ\u0301\u0307ÉS"
        pieces = wordpiece([*letters, "##fe", *map("##{}".format, letters)]).encode()
        rules = TextRules(strip_accents={"marked": False, "stripped": True}.get(kind))
        tokenizer = WordPieceTokenizer(pieces, kind != "stripped", rules=rules)
    return tokenizer, traced(twin(tokenizer))


@pytest.mark.slow
@given(texts=BATCHES)
def test_any_text(both, texts):
    check(both[0], texts, both[1])


@pytest.mark.nightly
@given(texts=BATCHES, pieces=st.lists(PIECES, max_size=12), do_lower_case=st.booleans())
def test_any_text_and_vocabulary(texts, pieces, do_lower_case):
    check(WordPieceTokenizer(wordpiece(pieces).encode(), do_lower_case), texts)


@pytest.mark.slow
def test_tricky_texts(both):
    tokenizer, in_graph = both
    check(tokenizer, TRICKY, in_graph)
    check(tokenizer, TRICKY[::-1], in_graph)
    parts = in_graph(tf.constant([], tf.string))
    assert [part.shape[0] for part in parts] == [0] * 4
    assert {part.dtype for part in parts} == {tf.int32}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["english", "chinese"])
def test_real_texts(name, request, shared):
    lines = [
        line
        for path in (
            "text_en/wikipedia_squad/dev-v1.1.txt",
            "text_zh/classics/红楼梦.txt",
        )
        for line in shared(f"data/{path}").read_text("utf-8").splitlines()[:60]
    ]
    tokenizer = request.getfixturevalue(name)
    check(tokenizer, [*lines, *TRICKY], traced(twin(tokenizer)))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["english", "chinese"])
def test_every_character(name, request):
    tokenizer = request.getfixturevalue(name)
    # Unassigned ones, to this Python, may have decompositions in TensorFlow; those of
    # private use are alike, and many; halves of pairs are none.
    skipped = ("Cn", "Co", "Cs")
    characters = [
        c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in skipped
    ]
    texts = [f"a{c}b{c.upper()} {c}" for c in characters]
    ids = traced(InGraphTokenizer(tokenizer))(tf.constant(texts)).to_list()
    pairs = zip(characters, ids, tokenizer.encode_batch(texts), strict=True)
    assert [f"U+{ord(c):04X}" for c, a, b in pairs if a != b] == []


@pytest.mark.slow
def test_small_wordpiece():
    pieces = wordpiece(["e", "##e", "ος", ",", "中"]).encode()
    texts = ["e" * 200, "e" * 201, "ΟΣ,ΟΣ", "中e", "[SEP]", ""]
    for do_lower_case in (True, False):
        check(WordPieceTokenizer(pieces, do_lower_case), texts)


@pytest.mark.parametrize("is_cased", [True, False])
def test_null_characters_are_unknown_or_dropped(train_model, is_cased):
    pieces = SentencePieceTokenizer(train_model(), not is_cased)
    words = WordPieceTokenizer(wordpiece(["a", "b", "##b"]).encode(), not is_cased)
    for tokenizer, found in ((pieces, "\u2581 a \0 b \u2581 \0"), (words, "a ##b")):
        ids = tokenizer.convert_tokens_to_ids(found.split(" "))
        assert check(tokenizer, ["a\0b \0"]) == [ids]


@pytest.fixture(params=["sentencepiece", "wordpiece", "byte_bpe"])
def tokenizer(request, small_bpe, words):
    if request.param == "byte_bpe":
        return small_bpe
    if request.param == "sentencepiece":
        return SentencePieceTokenizer(tie_pieces())
    return words


def test_what_is_no_text_counts_as_replacement_characters(tokenizer):
    ids = InGraphTokenizer(tokenizer)(tf.constant([b"a\xff cat"]))
    assert ids.to_list() == [tokenizer.encode("a\ufffd cat")]
    for halved in ("the\ud83d cat", "\udfffthe cat\ud800", "a\ud83db"):
        text = re.sub("[\ud800-\udfff]", "\ufffd", halved)
        expected = tokenizer.encode_with_offsets(text)
        assert tokenizer.encode(halved) == expected[0]
        assert tokenizer.tokenize(halved) == tokenizer.tokenize(text)
        assert tokenizer.encode_with_offsets(halved) == expected


@pytest.mark.slow
def test_tokenizers_and_exports_answer_after_caches_were_cleared(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = InGraphTokenizer(tokenizer)
    signature = traced(lambda text: {"ids": module.tokenizer(text).to_tensor()})
    tf.saved_model.save(module, tmp_path, signatures=signature)
    if tokenizer.kind == "sentencepiece":  # it holds its model once
        stored = (tmp_path / "saved_model.pb").read_bytes()
        assert stored.count(tokenizer.file_bytes) == 1
    loaded = tf.saved_model.load(tmp_path)
    graph = traced(module.tokenizer.with_offsets)
    # Others of the same vocabulary, which go with the caches.
    others = [InGraphTokenizer(tokenizer), tf.saved_model.load(tmp_path)]
    texts = ["aabb <mask> eee\0" + "the" * 99]
    text, expected = tf.constant(texts), tokenizer.encode_batch(texts)
    assert others[0](text).to_list() == expected
    for _ in range(2):
        ids = loaded.signatures["serving_default"](text)["ids"]
        assert ids.numpy().tolist() == expected
        assert module.tokenizer(text).to_list() == expected
        assert graph(text)[0].to_list() == expected
        others.clear()
        keras.utils.set_random_seed(1)
        keras.utils.clear_session()


MARKS = "\u0301\u0316"  # of two classes, the wrong way round


@pytest.fixture(scope="module")
def words():
    pieces = ["a", "##a", "b", "##b", "aa", "##aaa", ",", "e", "##e"]
    return WordPieceTokenizer(wordpiece(pieces).encode())


def test_marks_dropped_early_change_nothing(words):
    """Every character that may be moved or falls apart, in random company."""
    lively = [
        c
        for c in map(chr, range(0xA0, 0x110000))
        if unicodedata.category(c).startswith("M") or unicodedata.decomposition(c)
    ]
    rng = random.Random(0)
    for _ in range(5000):
        text = "".join(rng.choices(lively, k=8))
        decomposed = unicodedata.normalize("NFKD", " ".join(text.split()))
        kept = "".join(c for c in decomposed if not unicodedata.combining(c))
        assert sentencepiece_text(text, False) == kept
        lowered = unicodedata.normalize("NFD", text.lower())
        kept = "".join(c for c in lowered if unicodedata.category(c) != "Mn")
        parts = words._parts(text)
        kept = "".join(c for c in kept if not c.isspace())
        assert "".join(part for part, _ in parts) == kept


@pytest.fixture(scope="module", params=["wordpiece", "sentencepiece"])
def either(request, words, train_model):
    if request.param == "wordpiece":
        return words
    return SentencePieceTokenizer(train_model(model_type="unigram", vocab_size=55))


LONG_TEXTS = {
    "words": "A cat, aaa éb 2000, " * 5_000,
    "spaces": " \t" * 50_000 + "the cat",
    "accents": "a" + MARKS * 50_000 + " the cat",
    "letters": "catdogb" * 20_000,
    "unknown": "Ж中" * 300 + " cat" + "Ж中" * 30_000,
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_cut_text_keeps_its_first_tokens(either, name):
    in_graph = InGraphTokenizer(either, max_tokens=12)
    expected = either.encode(LONG_TEXTS[name])[:12]
    ids = in_graph(tf.constant([LONG_TEXTS[name], "a cat"])).to_list()
    assert ids[0][:12] == expected
    assert ids[1] == either.encode("a cat")
    assert len(ids[0]) <= 12 * 256


_HOSTILE = (
    "a\x00\x7f\u0301\ufdfa\ufffd\ufffe\uffff\U0001f600\U0010ffff\u2028\ud7ff\ue000"
)


def places(rng, text, count):
    first = [rng.randint(0, len(text)) for _ in range(count)]
    return first, [rng.randint(start, len(text)) for start in first]


def test_stretches():
    rng = random.Random(3)
    texts = ["", "a", *("".join(rng.choices(_HOSTILE, k=40)) for _ in range(5))]
    rows = [places(rng, text, rng.randint(0, 5)) for text in texts]
    first, last = (
        tf.ragged.constant([row[k] for row in rows], tf.int32) for k in (0, 1)
    )
    codes = tf.ragged.constant([list(map(ord, text)) for text in texts], tf.int32)
    encoded = [text.encode() for text in texts]
    decoded = tf.strings.unicode_decode(encoded, "UTF-8")
    assert decoded.to_list() == codes.to_list()
    assert stretches(decoded, first, last).to_list() == [
        [text[a:b].encode() for a, b in zip(*row, strict=True)]
        for text, row in zip(texts, rows, strict=True)
    ]


def test_numbers():
    rng = random.Random(5)
    compute = tf.function(text_numbers, autograph=False)
    for alphabet in ("a", "ab", _HOSTILE):
        text = "".join(rng.choices(alphabet, k=70))
        first, last = places(rng, text, 300)
        codes = tf.constant(list(map(ord, text)), tf.int32)
        found = compute(
            codes, tf.constant(first, tf.int64), tf.constant(last, tf.int64)
        )
        texts = [text[a:b] for a, b in zip(first, last, strict=True)]
        same = [[one == other for other in texts] for one in texts]
        np.testing.assert_array_equal(found[:, None] == found, same)
    nothing = tf.zeros([0], tf.int64)
    assert compute(tf.zeros([0], tf.int32), nothing, nothing).shape == [0]


def test_a_text_is_not_copied_for_each_stretch():
    # With a copy for each, these are 40 GB.
    codes = tf.tile([97, 98, 99, 32], [50_000])
    first = tf.range(0, 199_000, dtype=tf.int64)
    found = text_numbers(codes, first, first + 21)
    assert len(np.unique(found)) == 4
