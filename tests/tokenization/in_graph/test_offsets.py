"""The in-graph twins give the same ids, from the same places of the original text."""

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece as vocabulary
from tools.fuzz.inputs import CHARACTERS
from tools.fuzz.inputs import TEXTS_WITH_NUL

pytestmark = pytest.mark.slow
KINDS = ["ties", "wordpiece", "accents"]
MORE_KINDS = [
    *("char", "char cased", "bpe", "accents cased", "marked words", "stripped words")
]
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
        pieces = vocabulary([*letters, "##fe", *map("##{}".format, letters)])
        strips = {"marked": False, "stripped": True}.get(kind)
        tokenizer = WordPieceTokenizer(
            pieces.encode(), kind != "stripped", rules=TextRules(strip_accents=strips)
        )
    return tokenizer, traced(twin(tokenizer))


@given(texts=BATCHES)
def test_any_text(both, texts):
    check(both[0], texts, both[1])


@pytest.mark.nightly
@given(texts=BATCHES, pieces=st.lists(PIECES, max_size=12), do_lower_case=st.booleans())
def test_any_text_and_vocabulary(texts, pieces, do_lower_case):
    check(WordPieceTokenizer(vocabulary(pieces).encode(), do_lower_case), texts)


def test_tricky_texts(both):
    check(both[0], TRICKY, both[1])
    check(both[0], TRICKY[::-1], both[1])
    _, in_graph = both
    parts = in_graph(tf.constant([], tf.string))
    assert [part.shape[0] for part in parts] == [0] * 4
    assert {part.dtype for part in parts} == {tf.int32}


@pytest.mark.parametrize("name", ["english", "chinese"])
def test_real_texts(name, request, shared):
    tokenizer = request.getfixturevalue(name)
    in_graph = traced(twin(tokenizer))
    english = shared("data/text_en/wikipedia_squad/dev-v1.1.txt")
    chinese = shared("data/text_zh/classics/红楼梦.txt")
    lines = english.read_text("utf-8").splitlines()[:60]
    lines += chinese.read_text("utf-8").splitlines()[:60]
    check(tokenizer, [*lines, *TRICKY], in_graph)
