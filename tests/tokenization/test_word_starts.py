"""Pieces that start a word: officially, and in every script."""

import numpy as np
import pytest

from albert_tf.tokenization.word_starts import starts_officially
from albert_tf.tokenization.word_starts import starts_word

ENGLISH = {
    "'s": True,
    "ing": False,
    "...": False,
    "s-": False,
    "2000": True,
    "▁": True,
    "▁wow": True,
    "<x": True,
    ".": True,
    "=": True,
    "Ab": False,
    "wow,": False,
}


@pytest.mark.parametrize(("piece", "starts"), ENGLISH.items())
def test_english_rule(piece, starts):
    assert starts_officially(piece, False) == starts
    assert starts_word(piece, False) == starts


@pytest.mark.parametrize("piece", ["é", "я", "日本", "ß", "…", "<0xD1>"])
def test_officially_all_but_english_starts_a_word(piece):
    assert starts_officially(piece, False)


@pytest.mark.parametrize(
    "piece",
    [
        *["ß", "ø", "é", "ость", "ώ", "של", "ـها", "ِ", "ية،", "कर", "ा", "्या", "है।"],
        *["한국", "의", "ქართ", "አማ", "க்", "\u200dष", "\u200c", "м.", "».", "e\u0301"],
        *["<0xD1>", "<0x8F>", "<0xE0>", "<0xED>", "<0x80>"],
    ],
)
@pytest.mark.parametrize("is_xlnet", [False, True])
def test_letters_of_scripts_with_spaces_continue_a_word(piece, is_xlnet):
    assert not starts_word(piece, is_xlnet)


@pytest.mark.parametrize(
    "piece",
    [
        *["日", "日本", "の", "カメ", "ㄅ", "々", "ไทย", "ລາວ", "ខ្ម", "မြန်", "བོད"],
        *[
            "।",
            "؟",
            "。",
            "»",
            "—",
            "▁я",
            "▁日",
            "<0xE6>",
            "<0xF0>",
            "<0xC2>",
            "<0xEF>",
        ],
    ],
)
@pytest.mark.parametrize("is_xlnet", [False, True])
def test_other_scripts_and_punctuation_start_a_word(piece, is_xlnet):
    assert starts_word(piece, is_xlnet)


def test_a_vowel_sign_never_starts_a_word():
    assert not starts_word("ั้ง", False)
    assert not starts_word("\u3099", False)


@pytest.mark.parametrize("piece", ["2000", "'s", "٣", "₤"])
def test_digits_and_signs_start_a_word_as_in_english(piece):
    assert starts_word(piece, False)
    assert not starts_word(piece, True)  # XLNet's rule


def test_xlnet_rule_is_the_recorded_one(shared, english):
    recorded = np.load(shared("fixtures/xlnet/data/stream.npz"))["vocabulary_is_start"]
    found = [starts_officially(piece, True) for piece in english.pieces]
    # Where ALBERT's special pieces are, the recording has XLNet's.
    differs = np.flatnonzero(recorded != found)
    assert differs.tolist() == [english.cls_id, english.sep_id, english.mask_id]


def test_released_english_pieces_start_words_as_officially(english):
    np.testing.assert_array_equal(english.word_starts(), english.word_starts(True))
    assert not english.word_starts().all()
