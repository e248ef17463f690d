"""New pieces of a tokenizer: which are learnt, and that no other text changes."""

import collections
import itertools
import json
import random

import pytest
import tokenizers
from hypothesis import example
from hypothesis import given
from hypothesis import strategies

from albert_tf.errors import UserError
from albert_tf.tokenization import extension
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.extension import _joined
from albert_tf.tokenization.extension import extension_of
from albert_tf.tokenization.for_tokenizers import whole_file
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.test_byte_bpe import byte_bpe_of
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece

_TRAINING = {"character_coverage": 1.0, "num_threads": 1}


def _wordpiece(pieces):
    return WordPieceTokenizer(wordpiece(pieces.split()).encode())


def _pieces(old, texts, count=30):
    new, _ = extension_of(old)(texts, count, **_TRAINING)
    return new, new.pieces[old.vocab_size :]


def test_no_known_word_becomes_unknown():
    """`abc` wins over `ab`, behind which `##cd` is a piece and `##d` was none."""
    new, pieces = _pieces(_wordpiece("ab ##cd ##c a b"), ["abc abc", "abc"] * 9)
    assert "abc" in pieces
    assert new.tokenize("abcd abc abx") == ["abc", "##d", "abc", "[UNK]"]


def test_characters_come_first_and_then_what_saves_most_pieces():
    old = _wordpiece("a ##a b ##b")
    new, replaced = extension_of(old)(["aab aab", "xb ya"] * 9, 3, **_TRAINING)
    assert new.pieces[old.vocab_size :] == ["x", "y", "aab"]
    assert replaced == [[old.unk_id], [old.unk_id], old.encode("aab")]


def test_pieces_that_save_nothing_are_left_out(monkeypatch):
    proposed = {"▁ab": -1.0, "ba": -1.0}
    monkeypatch.setattr(extension, "_unigram", lambda *arguments: proposed)
    assert _pieces(_wordpiece("a ##a b ##b"), ["ab ab"])[1] == ["ab"]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("abc " * 50 + "hgfedcba hgfedcba", "abc"),  # 100 and 14 pieces are saved
        ("abc " * 3 + "hgfedcba hgfedcba", "hgfedcba"),  # 6 and 14
        ("ab " * 5 + "cdef cdef", "cdef"),  # 5 and 6
        ("abcdefgh hg hg", "hg"),  # what is there once is not proposed
    ],
)
def test_the_piece_that_saves_most(text, piece):
    old = _wordpiece(" ".join(f"{letter} ##{letter}" for letter in "abcdefgh"))
    assert _pieces(old, [text], 1)[1] == [piece]


def test_added_tokens_keep_their_ids(tmp_path):
    old = SentencePieceTokenizer(tie_pieces())
    added = enumerate(("age", "<new>"), start=old.vocab_size)
    old = old.with_added([AddedToken(content, index) for index, content in added])
    texts = ["abcabc abcd <new> żółw żółw 1974,5 1974,6 2974,7 1974,8", "(abcabc"] * 20
    new, replaced = extension_of(old)(texts, 40, **_TRAINING)
    pieces = new.pieces[old.vocab_size :]
    assert new.pieces[: old.vocab_size] == old.pieces
    words = [(p, ids) for p, ids in zip(pieces, replaced, strict=True) if p[0] == "▁"]
    assert [ids for _, ids in words] == [old.encode(p[1:]) for p, _ in words]
    assert new.encode("<new>") == old.encode("<new>") == [old.vocab_size - 1]
    assert new.tokenize("x <new> abcabc")[-1] == "▁abcabc"
    assert new.unk_id not in new.encode("żółw (")
    assert "<" not in pieces  # of <new>
    assert not any(piece.endswith("4,") for piece in pieces)
    theirs = tokenizers.Tokenizer.from_str(whole_file(new).decode())
    new.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    for text in ("ab <new> żółw", "abcabc age AGE"):
        assert loaded.encode(text) == new.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == new.encode(text)


@pytest.mark.parametrize(
    ("usual", "largest", "text", "score"),
    [
        (-8, -0.5, "ab ab cd cd", -709 / 1024),  # the logarithm of its share
        (-8, -0.5, "ab ab ab cd", -0.5),  # the largest
        (-0.125, -0.0625, "ab ab cd cd", -383 / 1024),  # above the pieces in its place
    ],
)
def test_scores_of_new_pieces(usual, largest, text, score):
    model = sentencepiece_file.ModelProto()
    model.trainer_spec.model_type = sentencepiece_file.UNIGRAM
    model.pieces.add(piece="<unk>", type=sentencepiece_file.UNKNOWN)
    for piece in ("[CLS]", "[SEP]", "[MASK]", "<pad>"):
        model.pieces.add(piece=piece, type=sentencepiece_file.CONTROL)
    for piece in "▁abcd":
        model.pieces.add(piece=piece, score=usual)
    model.pieces.add(piece="e", score=largest)
    model.pieces.add(piece="f", score=-9)
    new, pieces = _pieces(SentencePieceTokenizer(model.SerializeToString()), [text])
    assert "▁ab" in pieces
    model = sentencepiece_file.ModelProto.FromString(new.file_bytes)
    assert {p.piece: p.score for p in model.pieces}["▁ab"] == score


def test_unknown_characters_in_a_row_are_one():
    assert _joined([1, 1, 0, 0, 0, 2, 0], 0) == [1, 1, 0, 2, 0]


def test_an_added_token_that_is_cut_stays_out_of_the_pieces():
    old = _wordpiece("a ##a b ##b")
    old = old.with_added([AddedToken("<new>", old.vocab_size)])
    new, pieces = _pieces(old, ["abab <new>"] * 9)
    assert new.pieces == [*old.pieces, *pieces] and "abab" in pieces
    assert new.encode("<new> ab") == [old.vocab_size - 1, *new.encode("ab")]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["", " \t"], r"The text \(2 lines\) suggests no new piece"),
        (["ab" * 5000], "SentencePiece finds no pieces in 1 different words: .*empty"),
    ],
)
def test_texts_without_words(texts, message):
    with pytest.raises(UserError, match=message):
        _pieces(_wordpiece("a ##a b ##b"), texts)


_OLD = byte_bpe_of(("n", "g"), ("i", "n"), ("in", "g"))


def test_no_new_merge_makes_an_old_piece():
    assert _OLD.tokenize("ing") == ["i", "ng"]
    new, pieces = _pieces(_OLD, ["xing xing xing"] * 3)
    assert new.tokenize("xing") == ["xing"]
    assert "ing" not in pieces
    assert new.tokenize("ing") == ["i", "ng"]


def _merged_one_by_one(old, texts):
    """Lists new merges, the most frequent first, after counting all pairs each time."""
    words = collections.Counter(word for text in texts for word in old.words(text))
    words = {word: ([old.pieces[i] for i in word], n) for word, n in words.items()}
    known, merges = {*old.pieces}, []
    while True:
        pairs = collections.Counter()
        for pieces, number in words.values():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += number
        ids = {piece: index for index, piece in enumerate(dict.fromkeys(old.pieces))}
        ids |= {"".join(p): old.vocab_size + k for k, p in enumerate(merges)}
        found = [p for p, n in pairs.items() if n > 1 and "".join(p) not in known]
        if not found:
            return merges
        pair = min(found, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]))
        merges.append(pair)
        known.add("".join(pair))
        for word, (pieces, number) in words.items():
            joined = [*pieces]
            for place in range(len(pieces) - 1):
                if (*joined[place : place + 2],) == pair:
                    joined[place : place + 2] = ["".join(pair), None]
            words[word] = [piece for piece in joined if piece], number


@pytest.mark.parametrize("seed", range(4))
def test_new_merges_are_the_most_frequent_pairs(seed):
    draw = random.Random(seed)
    words = ["".join(draw.choices("ing", k=draw.randint(1, 9))) for _ in range(60)]
    texts = [" ".join(draw.choices(words, k=8)) for _ in range(9)]
    new, _ = _pieces(_OLD, texts, 500)
    merges = [tuple(pair) for pair in json.loads(new.file_bytes)["model"]["merges"]]
    assert merges[3:] == _merged_one_by_one(_OLD, texts)


@example(text="sin")
@given(text=strategies.text("xing s", max_size=12))
def test_new_merges_come_after_the_old(text):
    new, _ = _pieces(_OLD, ["sings", "xing", " xin sin"] * 3, 4)
    parts = [
        _OLD.pieces[index]
        for piece in new.tokenize(text)
        for index in _OLD.merges.apply(piece.replace("Ġ", " ").encode())
    ]
    assert parts == _OLD.tokenize(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("covid", "'covid' would become a piece of longer words"),
        ("new york", "'new york' has white space"),
    ],
)
def test_an_added_token_that_cannot_be_a_line_is_refused(content, message):
    old = _wordpiece("a ##a b ##b new")
    old = old.with_added([AddedToken(content, old.vocab_size)])
    with pytest.raises(UserError, match=message):
        _pieces(old, ["abab"] * 9)


def test_words_are_those_of_the_tokenizer():
    """Half of a pair of surrogates is replaced before a text is cut."""
    old = _wordpiece("ab")
    assert old.words("a\ud800b") == old.tokenize("a\ud800b") == ["ab"]
