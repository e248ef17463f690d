"""WordPieceTokenizer on a vocabulary of a dozen pieces."""

import pytest

from albert_tf.tokenization.normalization import is_chinese
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] un ##aff ##able a , [ ] 中 ο ##ς e ##x ##a"


def tokenizer(vocabulary=VOCABULARY, **arguments):
    data = "\n".join(vocabulary.split(" ")).encode()
    return WordPieceTokenizer(data, **arguments)


def test_the_official_blocks_of_chinese():
    found = [code for code in range(0x30000) if is_chinese(chr(code))]
    assert (len(found), sum(found)) == (81520, 9217255752)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("UNAFF,a", ["un", "##aff", ",", "a"]),
        ("a中a", ["a", "中", "a"]),
        ("unbelief a", ["[UNK]", "a"]),
        ("[MASK]", ["[", "[UNK]", "]"]),
        ("É\u0301x", ["e", "##x"]),
        ("ΟΣ", ["ο", "##ς"]),
        ("a\u0000\ufffd\u200b,\u2028a", ["a", ",", "a"]),
        ("e" * 201, ["[UNK]"]),
        ("", []),
    ],
)
def test_pieces(text, pieces):
    assert tokenizer().tokenize(text) == pieces


def test_pieces_that_start_a_word():
    found = tokenizer()
    starts = dict(zip(found.pieces, found.word_starts(), strict=True))
    assert starts["un"] and starts["中"] and not starts["##aff"]


def test_cased():
    cased = tokenizer(VOCABULARY + " É", do_lower_case=False)
    assert cased.tokenize("É a A") == ["É", "a", "[UNK]"]


def test_vocabulary_lines():
    data = b"[PAD]\n[UNK] 7\n[CLS]\n\xe2\x80\xa8\n[SEP]\n[SEP]\n[MASK]\n"
    pieces = WordPieceTokenizer(data).pieces
    assert pieces == ["[PAD]", "[UNK]", "[CLS]", " ", "[SEP]", "[MASK]"]
