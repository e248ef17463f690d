"""WordPieceTokenizer on a vocabulary of a dozen pieces; pieces that start a word."""

import json

import numpy as np
import pytest

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.normalization import is_chinese
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.word_starts import starts_officially
from albert_tf.tokenization.word_starts import starts_word
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece


def tokenizer(**arguments):
    return WordPieceTokenizer(wordpiece(["a", "e", "##e", "É"]).encode(), **arguments)


def test_the_official_blocks_of_chinese():
    found = [code for code in range(0x30000) if is_chinese(chr(code))]
    assert (len(found), sum(found)) == (81520, 9217255752)


def test_words_of_more_than_200_letters_are_unknown():
    assert tokenizer().tokenize("e" * 200 + " " + "e" * 201)[199:] == ["##e", "[UNK]"]


def test_letters_keep_their_case_and_accents():
    cased = tokenizer(do_lower_case=False)
    assert cased.tokenize("É a A") == ["É", "a", "[UNK]"]
    assert cased.count_stripped("é") == 0
    assert tokenizer().count_stripped("é क्या नहीं") == 3
    prints = [
        tokenizer(rules=TextRules(strip_accents=strips)).fingerprint()
        for strips in (None, True, False)
    ]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("lowers", "strips", "pieces"),
    [(True, False, ["é", "##é", "[UNK]"]), (False, True, ["E", "##e", "I", "##x"])],
)
def test_accents_are_stripped_apart_from_the_case(lowers, strips, pieces, tmp_path):
    text = wordpiece(["e", "##e", "é", "##é", "É", "E", "I", "i", "##x", "##é"])
    (tmp_path / "vocab.txt").write_text(text, "utf-8")
    config = {"do_lower_case": lowers, "strip_accents": strips}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert load_tokenizer(tmp_path).tokenize("Éé İx") == pieces


def test_vocabulary_lines():
    data = b"[PAD]\n[UNK] 7\n[CLS]\n\xe2\x80\xa8\n[SEP]\n[SEP]\n[MASK]\n"
    pieces = WordPieceTokenizer(data).pieces
    assert pieces == ["[PAD]", "[UNK]", "[CLS]", " ", "[SEP]", "[MASK]"]


def test_english_pieces_start_words_as_officially(english):
    for starts, pieces in (
        (True, "'s 2000 ▁ ▁wow <x . ="),
        (False, "ing ... s- Ab wow,"),
    ):
        for piece in pieces.split():
            assert starts_officially(piece, False) == starts
            assert starts_word(piece, False) == starts
    # Officially, all but English starts a word.
    others = ["é", "я", "日本", "ß", "…", "<0xD1>"]
    assert all(starts_officially(piece, False) for piece in others)
    np.testing.assert_array_equal(english.word_starts(), english.word_starts(True))
    assert not english.word_starts().all()


CONTINUING = """
    ß ø é ость ώ של ـها ِ ية، कर ा ्या है। 한국 의 ქართ አማ க் \u200dष \u200c м. ». e\u0301
    <0x80> <0xBF> <0xC3> <0xE1> <0xEA> <0xED>
"""
STARTING = """
    日 日本 の カメ ㄅ 々 ไทย ລາວ ខ្ម မြန် བོད । ؟ 。 » — ▁я ▁日
    <0x7F> <0xC0> <0xC2> <0xE2> <0xE9> <0xEE>
"""


def test_scripts_with_and_without_spaces():
    for is_xlnet in (False, True):
        assert [p for p in CONTINUING.split() if starts_word(p, is_xlnet)] == []
        assert [p for p in STARTING.split() if not starts_word(p, is_xlnet)] == []
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
