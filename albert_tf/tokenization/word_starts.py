"""Decides which pieces start a word: by the official rules, and in every script."""

import functools
import re
import unicodedata

MARK = "\u2581"
_PUNCTUATION = frozenset('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
# ALBERT: a piece of these alone continues a word (the official list: without
# ', =, < and >).
_ENGLISH = frozenset("abcdefghijklmnopqrstuvwxyz") | _PUNCTUATION
# Scripts that are written without spaces, by how Unicode's names begin.
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

    Both models know the mark of a space, "<" and single English punctuation. To ALBERT
    all but English letters and punctuation starts a word, too: digits, "'s", "ß", "я".

    Source: `_is_start_piece_sp` in create_pretraining_data.py of google-research/albert
    and `_is_start_piece` in data_utils.py of zihangdai/xlnet.
    """
    if piece.startswith((MARK, "<")) or piece in _PUNCTUATION:
        return True
    return not is_xlnet and not all(c.lower() in _ENGLISH for c in piece)


def starts_word(piece, is_xlnet):
    """Returns whether a piece starts a word, in every script.

    Letters and punctuation of scripts with spaces between words count as English ones
    do by the official rule. A piece of a script without spaces is a word of its own, as
    a Chinese character is officially, unless it begins with a vowel sign or another
    mark. Of the bytes that spell a rare character the first may start a word, if most
    of the characters that begin with it do.
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

    U+00C0 to U+1FFF are letters of scripts with spaces, mostly, and so are U+A000 to
    U+DFFF, which the syllables of Korean fill; symbols, Chinese and Japanese lie
    between and behind.
    """
    return 0x80 <= byte < 0xC0 or 0xC3 <= byte < 0xE2 or 0xEA <= byte < 0xEE
