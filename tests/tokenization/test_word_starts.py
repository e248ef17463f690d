"""Pieces that start a word: officially, and in every script."""

import numpy as np
import pytest

from albert_tf.tokenization.word_starts import starts_officially
from albert_tf.tokenization.word_starts import starts_word


def test_english_rule():
    for starts, pieces in (
        (True, "'s 2000 ▁ ▁wow <x . ="),
        (False, "ing ... s- Ab wow,"),
    ):
        for piece in pieces.split():
            assert starts_officially(piece, False) == starts
            assert starts_word(piece, False) == starts
    # Officially, all but English starts a word.
    assert all(
        starts_officially(p, False) for p in ["é", "я", "日本", "ß", "…", "<0xD1>"]
    )


CONTINUING = """
    ß ø é ость ώ של ـها ِ ية، कर ा ्या है। 한국 의 ქართ አማ க் \u200dष \u200c м. ». e\u0301
    <0x80> <0xBF> <0xC3> <0xE1> <0xEA> <0xED>
"""
STARTING = """
    日 日本 の カメ ㄅ 々 ไทย ລາວ ខ្ម မြန် བོད । ؟ 。 » — ▁я ▁日
    <0x7F> <0xC0> <0xC2> <0xE2> <0xE9> <0xEE>
"""


@pytest.mark.parametrize("is_xlnet", [False, True])
def test_scripts_with_and_without_spaces(is_xlnet):
    assert [p for p in CONTINUING.split() if starts_word(p, is_xlnet)] == []
    assert [p for p in STARTING.split() if not starts_word(p, is_xlnet)] == []


def test_signs_and_digits():
    assert not starts_word("ั้ง", False)  # a vowel sign
    assert not starts_word("\u3099", False)
    for piece in ("2000", "'s", "٣", "₤"):  # as in English, but by XLNet's rule
        assert starts_word(piece, False) and not starts_word(piece, True)


def test_xlnet_rule_is_the_recorded_one(shared, english):
    recorded = np.load(shared("fixtures/xlnet/data/stream.npz"))["vocabulary_is_start"]
    found = [starts_officially(piece, True) for piece in english.pieces]
    # Where ALBERT's special pieces are, the recording has XLNet's.
    differs = np.flatnonzero(recorded != found)
    assert differs.tolist() == [english.cls_id, english.sep_id, english.mask_id]


def test_released_english_pieces_start_words_as_officially(english):
    np.testing.assert_array_equal(english.word_starts(), english.word_starts(True))
    assert not english.word_starts().all()
