"""Byte-level BPE: ids, offsets and texts, by recordings, by tokenizers, in a graph."""

import json
import random

import pytest
import tokenizers
from hypothesis import given

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.byte_bpe import CHARACTERS
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.byte_bpe import words_of
from albert_tf.tokenization.huggingface import with_added_tokens
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.tokenizer import WordCache
from tests.tokenization.in_graph.graphs import check
from tests.tokenization.in_graph.graphs import traced
from tests.tokenization.in_graph.graphs import twin
from tools.fuzz.inputs import TEXTS_WITH_NUL


@pytest.fixture(scope="module")
def roberta(shared):
    return load_tokenizer(shared("data/vocab/roberta"))


@pytest.fixture(scope="module")
def recorded(shared):
    """Reads what the official program made of texts."""

    def read(name):
        path = shared(f"fixtures/roberta/tokenization/{name}.jsonl")
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    return read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1\u00b2\u4e8c_\u0301b", ["a", "1\u00b2", "\u4e8c", "_\u0301", "b"]),
        # Letters since Unicode 14, 15.1 and 16, and a number.
        ("a\u1c89\U00010570\U0002ebf0", ["a\u1c89\U00010570\U0002ebf0"]),
        ("1\U00010d40", ["1\U00010d40"]),
        ("a\x1cb", ["a", "\x1c", "b"]),  # Python's white space, but not Unicode's
    ],
)
def test_words(text, expected):
    assert words_of(text) == expected


def test_the_characters_of_bytes():
    assert len(CHARACTERS) == 256
    assert {*CHARACTERS} == {*tokenizers.pre_tokenizers.ByteLevel.alphabet()}
    assert "".join(CHARACTERS).encode("latin-1", "ignore") == bytes(
        [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    )


def test_words_of_ascii_are_those_of_any_text():
    text = "".join(chr(a) + chr(b) for a in range(128) for b in range(128))
    assert words_of(text) == words_of(f"{text}\u00e9")[:-1]


@pytest.mark.parametrize("name", ["wiki", "hostile"])
def test_recorded_ids_and_offsets(name, roberta, recorded):
    for row in recorded(name):
        found = roberta(row["text"], row["pair"], padding=False)["input_ids"][0]
        assert found in (row["ids"], row.get("fast_ids")), ascii(row["text"])
        texts = [text for text in (row["text"], row["pair"]) if text is not None]
        spans = []
        for text in texts:
            found = map(list, roberta.encode_with_offsets(text)[1])
            spans += [[0, 0], *found, [0, 0]]
        assert row["offsets"] in (spans, None, []), ascii(row["text"])


def test_recorded_words_and_truncation(roberta, recorded):
    for row in recorded("words"):
        pieces = [roberta.encode(roberta.as_word(word)) for word in row["words"]]
        assert [0, *(i for ids in pieces for i in ids), 2] == row["ids"]
    rows = recorded("truncated")
    assert len(rows) == 40
    for row in rows:
        options = {"max_length": row["max_length"], "truncation": row["strategy"]}
        found = roberta(row["text"], row["pair"], padding=False, **options)
        assert found["input_ids"] == [row["ids"]]


def test_special_tokens_in_a_text(small_bpe):
    mask = small_bpe.mask_id
    assert mask == small_bpe.vocab_size - 1
    for asks in (True, False):
        found = small_bpe("a  <mask>  <s>b", special_tokens_in_text=asks)
        a, spaces, b = (small_bpe.encode(text) for text in ("a", "  ", "b"))
        assert found["input_ids"].tolist() == [[0, *a, mask, *spaces, 0, *b, 2]]
    ids, spans = small_bpe.encode_with_offsets("a \t<mask>")
    assert (ids[-1], spans[-1]) == (mask, (3, 9))
    assert small_bpe.tokenize("a\u3000<mask>") == ["a", "<mask>"]


def test_decoding(small_bpe):
    text = " The  caf\u00e9\n\n\U0001f600\0 \u65e5\x85 it's "
    assert small_bpe.count_stripped(text) == 0
    ids = small_bpe.encode(text)
    assert small_bpe.decode(ids) == text
    row = small_bpe("a <mask>b", "c")["input_ids"][0]
    assert small_bpe.decode(row) == "<s>a<mask>b</s></s>c</s>"
    assert small_bpe.decode(row, skip_special_tokens=True) == "abc"
    half = small_bpe.encode("\u0416")[:1]
    assert small_bpe.decode(half) == "\ufffd"


def test_word_starts(small_bpe):
    starts = dict(zip(small_bpe.pieces, small_bpe.word_starts(), strict=True))
    assert starts["\u0120the"] and starts[","] and starts["<mask>"]
    assert not starts["the"] and not starts["a"]
    official = small_bpe.word_starts(official=True)
    official = dict(zip(small_bpe.pieces, official, strict=True))
    assert official["\u0120the"] and not official[","] and official["</s>"]


def test_the_cache_holds_few_words_and_no_long_ones(small_files, monkeypatch):
    monkeypatch.setattr(WordCache, "WORDS", 4)
    tokenizer = load_tokenizer(small_files)
    cache = tokenizer._known
    for size in range(1, 80):
        ids = tokenizer.encode("x" * size)
        assert len(cache) <= 4
        assert ("x" * size in cache) == (size <= 64)
        assert tokenizer.encode("x" * size) == ids


def test_letters_are_not_lowered(small_files):
    with pytest.raises(UserError, match="keeps capital letters"):
        load_tokenizer(small_files, do_lower_case=True)
    assert load_tokenizer(small_files, do_lower_case=False).do_lower_case is False


def peer(tokenizer, add_prefix_space=False):
    model = json.loads(tokenizer.file_bytes)["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    theirs = tokenizers.ByteLevelBPETokenizer(model["vocab"], merges, add_prefix_space)
    theirs.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=add_prefix_space
    )
    special = [tokenizers.AddedToken(t) for t in ("<s>", "<pad>", "</s>", "<unk>")]
    mask = tokenizers.AddedToken("<mask>", lstrip=True)
    theirs.add_special_tokens([*special, mask])
    return theirs


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
            ranges = (0, 0x3000), (0xE000, 0x110000)
            parts[place] = chr(draw.randrange(*draw.choice(ranges)))
        yield "".join(parts)


@pytest.fixture(scope="module")
def theirs(small_bpe):
    return peer(small_bpe)


def _compare(ours, theirs, text):
    expected = theirs.encode(text, add_special_tokens=False)
    ids, spans = ours.encode_with_offsets(text)
    assert ids == expected.ids == ours.encode(text)
    assert spans == expected.offsets


@given(text=TEXTS_WITH_NUL)
def test_any_text_is_that_of_tokenizers(small_bpe, theirs, text):
    _compare(small_bpe, theirs, text)


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
    assert ours.encode(" the cat") == small_bpe.encode(" the cat")
    assert ours.encode_with_offsets("the cat")[1][0] == (0, 3)
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


def byte_bpe_of(*merges):
    """A tokenizer whose pieces are the bytes and what merges make of them."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*special, *CHARACTERS, *map("".join, merges), "<mask>"]
    ids = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    return ByteBpeTokenizer.of(ids, [*merges])


@pytest.mark.slow
def test_long_words_in_a_graph():
    """Windows of a word that do not join at once are united until they do."""
    for seed in (0, 3):
        draw, pieces, merges = random.Random(seed), ["a", "b"], []
        for _ in range(12):
            pair = tuple(draw.choices(pieces, k=2))
            if pair not in merges:
                merges.append(pair)
                pieces += {"".join(pair)} - set(pieces)
        tokenizer = byte_bpe_of(*(merges[::-1] if seed else merges))
        assert tokenizer.merges.grow_in_order() == (not seed)
        texts = ["b" + "a" * 3000, "ab" * 48, *_long_words("ab", 9, seed)]
        found = InGraphTokenizer(tokenizer)(texts).to_list()
        assert found == tokenizer.encode_batch(texts)


@pytest.mark.nightly
def test_in_a_graph_by_the_vocabulary_of_roberta(roberta, recorded):
    texts = [*_texts(1000, 4), *_long_words("aehnt", 40, 0)]
    texts += _long_words("-=日?", 40, 1)
    rows = recorded("wiki") + recorded("hostile")
    texts += [row[key] or "" for row in rows for key in ("text", "pair")]
    check(roberta, texts, traced(twin(roberta)))


def test_merges_out_of_order():
    """`xy` is merged with what follows it before it is made again."""
    tokenizer = byte_bpe_of(("xy", "x"), ("x", "y"), ("y", "x"))
    assert not tokenizer.merges.grow_in_order()
    assert tokenizer.tokenize("xyxyxy") == ["xyx", "y", "xy"]
    texts = ["xyxyxy", "xyxyxyxyx", "yxyx", "xxyy xyxy"]
    expected = [peer(tokenizer).encode(text).ids[1:-1] for text in texts]
    assert check(tokenizer, texts) == expected
