"""Rules for which pieces start a word: the official ones, and one for all scripts."""

import functools
import re
import unicodedata

MARK = "\u2581"
_PUNCTUATION = frozenset('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
# ALBERT: a piece of these alone continues a word (the official list: without
# ', =, < and >).
_ENGLISH = frozenset("abcdefghijklmnopqrstuvwxyz") | _PUNCTUATION
# Scripts written without spaces, by prefixes of Unicode names.
_WITHOUT_SPACES = (
    "CJK ",
    "IDEOGRAPHIC ",
    "HIRAGANA ",
    "HENTAIGANA ",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "BOPOMOFO ",
    "YI ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
    "TIBETAN ",
    "TAI ",
    "NEW TAI ",
    "JAVANESE ",
    "BALINESE ",
)
JOINERS = "\u200c\u200d"
_BYTE = re.compile("<0x([0-9A-F]{2})>").fullmatch


def starts_officially(piece, is_xlnet):
    """Returns whether a piece starts a word by the official rule.

    In both models, the mark of a space, "<" and single English punctuation start words.
    In ALBERT, so does everything but English letters and punctuation: digits, "'s",
    "ß", "я".

    Source: `_is_start_piece_sp` in create_pretraining_data.py of google-research/albert
    and `_is_start_piece` in data_utils.py of zihangdai/xlnet.
    """
    if piece.startswith((MARK, "<")) or piece in _PUNCTUATION:
        return True
    return not is_xlnet and not all(c.lower() in _ENGLISH for c in piece)


def starts_word(piece, is_xlnet):
    """Returns whether a piece starts a word, in every script.

    Letters and punctuation of scripts with spaces between words follow the official
    rule for English ones. A piece in a script without spaces is its own word, like
    Chinese characters officially, unless it begins with a vowel sign or another mark.
    The first byte of a rare character starts a word if most characters with that byte
    do.
    """
    byte = _BYTE(piece)
    if byte:
        return not is_byte_of_a_word(int(byte[1], 16))
    classes = [_character_class(character) for character in piece]
    if "w" in classes:
        return unicodedata.category(piece[0])[0] != "M"
    return starts_officially("".join(classes), is_xlnet)


@functools.cache
def _character_class(character):
    """Returns an English character of the same role, "w" for scripts without spaces.

    ASCII characters are returned as they are, except that "w" becomes "a".
    """
    if character.isascii():
        return "a" if character == "w" else character
    category = unicodedata.category(character)[0]
    if category in "LM" or character in JOINERS:
        name = unicodedata.name(character, "")
        return "w" if name.startswith(_WITHOUT_SPACES) else "a"
    return "." if category == "P" else character


def is_byte_of_a_word(byte):
    """Returns whether a byte continues a character, or begins one within words.

    U+00C0 to U+1FFF are mostly letters of scripts with spaces, and so are U+A000 to
    U+DFFF, mainly Korean syllables; symbols, Chinese and Japanese are between and after
    these ranges.
    """
    return 0x80 <= byte < 0xC0 or 0xC3 <= byte < 0xE2 or 0xEA <= byte < 0xEE
