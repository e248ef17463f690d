"""Times that grow with the length of a text, and not with its square.

Everything that cuts, prepares or tokenizes a text is timed on texts of which each is
awkward for some of it. Both times are of one process, the least of several each.
"""

import gc
import itertools
import json
import random
import time

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.display import html_page
from albert_tf.tasks.question_answering import in_graph
from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import predict
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.in_graph_entities import Entities
from albert_tf.tasks.tagging.in_graph_entities import RowFeatures
from albert_tf.tasks.tagging.rows import tokenize_sentences
from albert_tf.tasks.tagging.sentences import sentence_of_text
from albert_tf.tasks.tagging.task import Tagging
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.byte_bpe import CHARACTERS
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.in_graph.features import MaskedTextFeatures
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from data_pipeline.text.corpus import Reader
from data_pipeline.text.corpus import split_sentences
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece
from tools.demo.docstrings import prose

pytestmark = pytest.mark.slow

_SHORT, _LONG_WORD, _TIMES = 1500, 6_000, 4
_RATIO = 8  # 4 where time grows with the length, 16 where it grows with its square
# What other things may take of both times. A step of 1 ns for each pair of characters
# is noticed.
_SECONDS = 0.02

_LETTERS = "abcdefghijkl"
_draw = random.Random(0)
_WORD = "".join(_draw.choices(_LETTERS, k=_TIMES * _LONG_WORD))
_CHINESE = "".join(_draw.choices("日本三藏中文字", k=_TIMES * _SHORT))
# Of several scripts and classes, out of order, and such that fall apart.
_MARKS = "\u0301\u0316\u093c\u0951\u05b0\u0651\u0f73\U0001d165\u302e\uff9e\u20dd"


def behind_another(length):
    return "b" + "a" * (length - 1)


def a_run_and_a_word(length):
    return "b" + "a" * (length // 2) + _WORD[: length // 2]


def almost_a_token(length):
    return "<e\u0301" + " " * (length - 3)


_TOKENS = ("<mask>", "<mas ", " " * 99 + "<mask>", "[MASK] [SEP]", almost_a_token)
# What is repeated, or makes a text of a length: stops and spaces, words and numbers,
# marks and scripts, tokens, and what comes from PDFs.
UNITS = [
    *(". ", '.)"', "Mr. A. ", "\u3002", " ", "a\r\n", "\xa0\u3000", "([)]", "``'\""),
    *("a", behind_another, a_run_and_a_word, "ab cd, ", "2000, 1,", "'s'll:a"),
    *("a\u0316\u0301", _MARKS, "\ufb03Σ\u0130", _CHINESE, "हिन्दीไทยعربي"),
    *(*_TOKENS, "\0\f\xad\ufb01\ue000\u200b\ufeff"),
]
# By day, what takes graphs or several steps is tried on these alone: many sentences,
# one word, what is put in order, and what nearly ends a word.
_SOME = [". ", "a", "a\u0316\u0301", "<mas "]


@pytest.fixture(params=["some", pytest.param("all", marks=pytest.mark.nightly)])
def units(request):
    return _SOME if request.param == "some" else UNITS


def text_of(unit, length):
    if callable(unit):
        return unit(length)
    return (unit * -(-length // len(unit)))[:length]


def seconds(read, text):
    gc.disable()  # it goes through all that TensorFlow holds now and then
    start = time.process_time()
    read(text)
    found = time.process_time() - start
    gc.enable()
    return found


def check_growth(read, units=UNITS, short=_SHORT):
    wrong = []
    for unit in units:
        few, many = (text_of(unit, short * times) for times in (1, _TIMES))
        read(text_of(unit, 99))  # what is made once, such as tables of characters
        least = [float("inf")] * 2
        for _ in range(4):
            found = seconds(read, few), seconds(read, many)
            least = list(map(min, least, found))
            if least[1] < _RATIO * least[0] + _SECONDS:
                break
        else:
            wrong.append(f"{unit!r:.30}: {least[0]:.3f} s, {least[1]:.3f} s")
    assert not wrong


def byte_bpe():
    """Makes a vocabulary of which a long word takes thousands of different merges."""
    pairs = [a + b for a in _LETTERS for b in _LETTERS]
    merges = [list(pair) for pair in pairs]
    merges += [list(pair) for pair in itertools.product(pairs, pairs)]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *CHARACTERS, *map("".join, merges)]
    vocabulary = {piece: place for place, piece in enumerate([*pieces, "<mask>"])}
    model = {"model": {"vocab": vocabulary, "merges": merges}}
    return ByteBpeTokenizer(json.dumps(model).encode())


def with_tokens(base, mask):
    """Adds tokens of all kinds; the mask, a piece, takes the spaces before it."""
    first = base.vocab_size
    added = [
        AddedToken(mask, base.mask_id, False, True),
        AddedToken("<e\u0301  x>", first, True),
        AddedToken("<x>", first + 1),
        AddedToken("abab", first + 2, True),
    ]
    return base.with_added(added)


def _wordpiece():
    pieces = [*_LETTERS, *map("##{}".format, _LETTERS), *"日本.,()'\"12", "##ab", "##é"]
    return WordPieceTokenizer(wordpiece(pieces).encode())


TOKENIZERS = {
    "sentencepiece cased": lambda: SentencePieceTokenizer(
        tie_pieces(), False, rules=TextRules(keep_accents=True, joins_quotes=True)
    ),
    "wordpiece": _wordpiece,
    "byte_bpe with tokens": lambda: with_tokens(byte_bpe(), "<mask>"),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]()


def test_tokenizers(tokenizer):
    check_growth(tokenizer.encode)
    check_growth(tokenizer.encode_with_offsets)


def test_what_comes_before_and_behind_tokenizers(tokenizer, units):
    check_growth(tokenizer.prepare, units)
    check_growth(tokenizer.fold, units)
    check_growth(tokenizer.count_stripped, units)
    check_growth(lambda text: tokenizer(text, special_tokens_in_text=True), units)
    check_growth(lambda text: tokenizer.decode(tokenizer.encode(text)), units)


def compiled(function):
    spec = tf.TensorSpec([None], tf.string)
    function = tf.function(function, input_signature=[spec], autograph=False)
    return lambda text: function(tf.constant([text]))


def test_tokenizers_in_a_graph(tokenizer, units):
    check_growth(compiled(InGraphTokenizer(tokenizer).with_offsets), units)


def test_long_words_of_byte_bpe_in_a_graph():
    read = compiled(InGraphTokenizer(byte_bpe()))
    check_growth(read, [a_run_and_a_word], _LONG_WORD)


def test_features_in_a_graph(units):
    tokenizer = TOKENIZERS["sentencepiece cased"]()
    check_growth(compiled(InGraphTokenizer(tokenizer).prepare), units)
    check_growth(compiled(MaskedTextFeatures(tokenizer, 64)), units)


@pytest.mark.parametrize("read", [split_sentences, prose, Reader([]).segments_of])
def test_cutting(read):
    check_growth(read)


def test_tagged_words(units):
    tokenizer = _wordpiece()

    def read(text):
        sentence = sentence_of_text("1", text, None, None)
        words = sentence.bounds
        spans = [{"start": a, "end": b, "label": "X"} for a, b in words]
        sentence = sentence_of_text("1", text, spans, None)
        tags = schemes.tags_of(sentence.in_words(sentence.entities), len(words), "iob2")
        assert len(schemes.entities_of(tags)) == len(words)
        if words:
            tokenize_sentences([sentence], tokenizer, 64, 16)
        scores = np.zeros([len(words), 3], np.float32)
        labels = ("O", "B-X", "I-X")
        schemes.best_tags(scores, labels, schemes.steps(labels, "iob2", "legal"))
        spans = [(a, b) for a, b in words]
        html_page.coloured(text, {"gold": spans, "predicted": spans[1:]})

    # U+0000 is refused.
    check_growth(read, [unit for unit in units if callable(unit) or "\0" not in unit])


def test_entities_in_a_graph(units):
    features = RowFeatures(_wordpiece(), 64, 16)

    def compute(features):
        shape = tf.concat([tf.shape(features["input_ids"]), [3]], axis=0)
        return {"logits": tf.random.stateless_uniform(shape, (1, 2))}

    task = Tagging(name="custom", labels=("O", "B-X", "I-X"), decoder="legal")
    check_growth(compiled(Entities(features, compute, task)), units)


_SIZES = WindowSizes(64, 16, 8)


def test_questions(units):
    tokenizer = TOKENIZERS["byte_bpe with tokens"]()

    def read(text):
        # An answer within a word, for which others are looked for.
        answers = [Answer(text[1 : 1 + size], 1) for size in (1, 2, 40)]
        questions = [Question(str(i), "ab?", (a,)) for i, a in enumerate(answers)]
        paragraph = Paragraph(text, tuple(questions))
        for is_training in (True, False):
            found = list(windows_of([paragraph], tokenizer, _SIZES, {}, is_training))
        if found:
            shape = [len(found[0]), int(found[0].lengths.max())]
            logits = np.random.default_rng(0).random([2, *shape], np.float32)
            predict(found[0], beams_of_logits(*logits, 5, found[0].lengths), 5, 30)

    check_growth(read, units)


def test_answers_in_a_graph(units):
    features = in_graph.WindowFeatures(_wordpiece(), _SIZES)

    def answer(text):
        rows, *windows = features.windows(tf.constant(["ab?"]), text)
        mask = rows["input_mask"]
        logits = tf.random.stateless_uniform(tf.shape(mask), (1, 2))
        *beams, _ = beams_of_logits(logits, -logits, 5, tf.reduce_sum(mask, axis=1))
        return in_graph.answers(*windows, beams, text, 5, 30, 3)

    check_growth(compiled(answer), units)
