"""New pieces of a tokenizer: which are learnt, and that no other text changes."""

import pytest
import tokenizers
from hypothesis import example
from hypothesis import given
from hypothesis import strategies

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.added_tokens import AddedToken
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
    old = _wordpiece(" ".join(f"{letter} ##{letter}" for letter in "abcdefgh"))
    assert _pieces(old, ["abc " * 50 + "hgfedcba hgfedcba"], 1)[1] == ["abc"]


def test_added_tokens_keep_their_ids(tmp_path):
    old = SentencePieceTokenizer(tie_pieces())
    added = enumerate(("age", "<new>"), start=old.vocab_size)
    old = old.with_added([AddedToken(content, index) for index, content in added])
    texts = ["abcabc abcd <new> żółw żółw 1974,5 1974,6 2974,7 1974,8", "(abcabc"] * 20
    new, pieces = _pieces(old, texts, 40)
    assert new.pieces[: old.vocab_size] == old.pieces
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
