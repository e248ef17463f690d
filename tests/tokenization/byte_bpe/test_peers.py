"""Byte-level BPE against the package tokenizers, and in a graph against Python."""

import json
import random

import pytest
from hypothesis import given

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.huggingface import with_added_tokens
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from tests.tokenization.byte_bpe.conftest import peer
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tools.fuzz.inputs import TEXTS_WITH_NUL

_PARTS = [
    *"aeEΣσİé½ﬁ日本 ,20\t\r\n\v\x85\u2028\u0301\u200b\u3000\ufeff▁\0\x1c\x1f\1\2\3'",
    *["e\u0301", "2000,", "  ", "\r\n", "<mask>", "<s>", "</s>", " <mask>", "<ma"],
    *["'s", "'ll", "'re", "'D", "😀", "👨‍👩‍👧", "🇩🇪", " the", "ing", "\u0378", "हिन्दी"],
    *["e" * 199, " " * 50, "日本語" * 30, "the" * 40],
]


def _texts(count, seed):
    """Texts of tricky parts and of any characters, unassigned ones included."""
    draw = random.Random(seed)
    for _ in range(count):
        parts = draw.choices(_PARTS, k=draw.randint(0, 12))
        for place in range(0, len(parts), 3):
            code = draw.choice(
                [draw.randrange(0x3000), draw.randrange(0xE000, 0x110000)]
            )
            parts[place] = chr(code)
        yield "".join(parts)


@given(text=TEXTS_WITH_NUL)
def test_any_text_is_that_of_tokenizers(small_bpe, theirs, text):
    _compare(small_bpe, theirs, text)


@pytest.fixture(scope="module")
def theirs(small_bpe):
    return peer(small_bpe)


def _compare(ours, theirs, text):
    expected = theirs.encode(text, add_special_tokens=False)
    ids, spans = ours.encode_with_offsets(text)
    assert ids == expected.ids == ours.encode(text)
    assert spans == expected.offsets


@pytest.mark.nightly
def test_twenty_thousand_texts_by_the_vocabulary_of_roberta(roberta):
    theirs = peer(roberta)
    for text in _texts(20_000, 1):
        _compare(roberta, theirs, text)


@pytest.mark.slow
def test_a_space_before_the_first_word(small_bpe):
    rules = TextRules(add_prefix_space=True)
    ours = ByteBpeTokenizer(small_bpe.file_bytes, rules=rules)
    ours, theirs = with_added_tokens(ours, {}, "given"), peer(small_bpe, True)
    texts = ["", *_texts(300, 2)]
    expected = [theirs.encode(t, add_special_tokens=False).ids for t in texts]
    assert ours.encode_batch(texts) == expected
    check(ours, texts, traced(twin(ours)))
    assert check(ours, []) == []


def _long_words(letters, count, seed):
    """Words of runs, of which each piece can go on with the one before, and others."""
    draw = random.Random(seed)
    for _ in range(count):
        parts = (
            "".join(draw.choices(letters, k=size)) * draw.randint(1, 300 // size)
            for size in draw.choices([1, 1, 2, 3, 5, 100, 300], k=draw.randint(1, 5))
        )
        yield "".join(parts)


@pytest.mark.slow
def test_long_words_in_a_graph(small_bpe):
    """Windows of a word that do not join at once are united until they do."""
    content = json.loads(small_bpe.file_bytes)
    for seed in (0, 3):
        draw, pieces = random.Random(seed), ["a", "b"]
        merges = []
        for _ in range(12):
            pair = draw.choices(pieces, k=2)
            if pair not in merges:
                merges.append(pair)
                pieces += {"".join(pair)} - set(pieces)
        if seed == 3:
            merges.reverse()
        vocabulary = content["model"]["vocab"].copy()
        for piece in pieces:
            vocabulary.setdefault(piece, len(vocabulary))
        model = {"model": {"vocab": vocabulary, "merges": merges}}
        tokenizer = ByteBpeTokenizer(json.dumps(model).encode())
        assert tokenizer.merges.grow_in_order() == (seed < 3)
        texts = ["b" + "a" * 3000, "ab" * 48, *_long_words("ab", 9, seed)]
        assert InGraphTokenizer(tokenizer)(texts).to_list() == [
            tokenizer.encode(text) for text in texts
        ]


@pytest.mark.nightly
def test_in_a_graph_by_the_vocabulary_of_roberta(roberta, shared):
    texts = [*_texts(1000, 4), *_long_words("aehnt", 40, 0)]
    texts += _long_words("-=日?", 40, 1)
    for name in ("wiki", "hostile"):
        path = shared(f"fixtures/roberta/tokenization/{name}.jsonl")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        texts += [row[key] or "" for row in rows for key in ("text", "pair")]
    check(roberta, texts, traced(twin(roberta)))


def test_merges_out_of_order(small_bpe, tmp_path):
    # "xy" is merged with what follows it before it is made again.
    content = json.loads(small_bpe.file_bytes)
    pieces = content["model"]["vocab"]
    new = ["xy", "xyx", "yx"]
    pieces |= {piece: len(pieces) + place for place, piece in enumerate(new)}
    merges = [["xy", "x"], ["x", "y"], ["y", "x"]]
    content["model"]["merges"] = merges
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    tokenizer = load_tokenizer(tmp_path)
    assert not tokenizer.merges.grow_in_order()
    assert tokenizer.tokenize("xyxyxy") == ["xyx", "y", "xy"]
    texts = ["xyxyxy", "xyxyxyxyx", "yxyx", "xxyy xyxy"]
    expected = [peer(tokenizer).encode(text).ids[1:-1] for text in texts]
    assert check(tokenizer, texts) == expected
