"""Words of byte-level BPE, and the merges of pieces within them.

GPT-2's expression is
`'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`
with the tables of Unicode 16, as Hugging Face's tokenizers read it. The classes are
spelt out here: Python's `re` has no property classes, and other libraries' are of other
versions of Unicode.

Source: `encoder.py` of openai/gpt-2.
"""

import functools
import heapq
import re
import sys
import unicodedata

import numpy as np

SPACES = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
SPACES += "\u2028\u2029\u202f\u205f\u3000"
"""White space by Unicode's property, which U+001C to U+001F do not have."""

# What Unicode 14, 15, 15.1 and 16 added: the oldest Python has the tables of 13.
_NEW_LETTERS = """
870-887 889-88E 8B5 8C8-8C9 C5D CDD 170D 171F 1B4C 1C89-1C8A 2C2F 2C5F 9FFD-9FFF
A7C0-A7C1 A7CB-A7CD A7D0-A7D1 A7D3 A7D5-A7DC A7F2-A7F4 10570-1057A 1057C-1058A
1058C-10592 10594-10595 10597-105A1 105A3-105B1 105B3-105B9 105BB-105BC 105C0-105F3
10780-10785 10787-107B0 107B2-107BA 10D4A-10D65 10D6F-10D85 10EC2-10EC4 10F70-10F81
11071-11072 11075 1123F-11240 11380-11389 1138B 1138E 11390-113B5 113B7 113D1 113D3
11740-11746 11AB0-11ABF 11BC0-11BE0 11F02 11F04-11F10 11F12-11F33 12F90-12FF0 1342F
13441-13446 13460-143FA 16100-1611D 16A70-16ABE 16D40-16D6C 18CFF 1AFF0-1AFF3
1AFF5-1AFFB 1AFFD-1AFFE 1B11F-1B122 1B132 1B155 1DF00-1DF1E 1DF25-1DF2A 1E030-1E06D
1E290-1E2AD 1E4D0-1E4EB 1E5D0-1E5ED 1E5F0 1E7E0-1E7E6 1E7E8-1E7EB 1E7ED-1E7EE
1E7F0-1E7FE 2A6DE-2A6DF 2B735-2B739 2EBF0-2EE5D 31350-323AF
"""
_NEW_NUMBERS = """
10D40-10D49 116D0-116E3 11BF0-11BF9 11F50-11F59 16130-16139 16AC0-16AC9 16D70-16D79
1CCF0-1CCF9 1D2C0-1D2D3 1E4F0-1E4F9 1E5F1-1E5FA
"""


LETTER, NUMBER, OTHER, SPACE = range(4)


def _characters(ranges):
    """Returns the characters of ranges of hexadecimal numbers."""
    bounds = [item.split("-") for item in ranges.split()]
    codes = (range(int(b[0], 16), int(b[-1], 16) + 1) for b in bounds)
    return [chr(code) for part in codes for code in part]


_LISTED = dict.fromkeys(SPACES, SPACE)
_LISTED |= dict.fromkeys(_characters(_NEW_LETTERS), LETTER)
_LISTED |= dict.fromkeys(_characters(_NEW_NUMBERS), NUMBER)
_BY_CATEGORY = {"L": LETTER, "N": NUMBER}


def kind_of(character):
    """Returns LETTER or NUMBER (Unicode's properties L and N), SPACE or OTHER."""
    category = unicodedata.category(character)[0]
    return _LISTED.get(character, _BY_CATEGORY.get(category, OTHER))


@functools.cache
def kinds():
    """Returns each character's kind, uint8 `[0x110000]`, in half a second."""
    codes = range(sys.maxunicode + 1)
    return np.fromiter((kind_of(chr(code)) for code in codes), np.uint8, len(codes))


def _compiled(letter, number, other, space):
    """Compiles the expression of classes, each the text between its brackets."""
    return re.compile(
        f"'(?:[sdmt]|ll|ve|re)| ?[{letter}]+| ?[{number}]+| ?[{other}]+"
        f"|[{space}]+(?![^{space}])|[{space}]+"
    )


_ascii_words = _compiled("A-Za-z", "0-9", r"^\t-\r 0-9A-Za-z", "\t-\r ")


@functools.cache
def _any_words():
    found = kinds()
    begins = np.flatnonzero(np.diff(found, prepend=found[0] ^ 1))
    ends = [*begins[1:], len(found)]
    ranges = ["", "", "", ""]
    for begin, end in zip(begins, ends, strict=True):
        first, last = chr(begin), chr(end - 1)
        ranges[found[begin]] += f"{re.escape(first)}-{re.escape(last)}"
    return _compiled(*ranges)


def words_of(text):
    """Cuts a text into words: a list of str, which joined are the text."""
    return (_ascii_words if text.isascii() else _any_words()).findall(text)


class Merges:
    """The merges of neighbouring pieces, the first ones first.

    Args:
        byte_ids: list of int [256], the id of each byte alone.
        pairs: `{(left id, right id): (rank, id of both)}`.
    """

    def __init__(self, byte_ids, pairs):
        self.byte_ids, self.pairs = byte_ids, pairs

    def apply(self, word):
        """Merges the pair of the lowest rank, the first of equal ones, while there is.

        Args:
            word: bytes.

        Returns:
            Ids, a list of int. The time grows with the length of the word, but for a
            logarithm.
        """
        ids = [self.byte_ids[byte] for byte in word]
        end, pairs = len(ids), self.pairs
        # Where the piece before and behind each begins; a merged one stays left.
        before, behind = list(range(-1, end - 1)), list(range(1, end + 1))
        heap = []

        def note(left, right):
            found = pairs.get((ids[left], ids[right]))
            if found:
                heapq.heappush(heap, (found[0], left, found[1], right))

        for left in range(end - 1):
            note(left, left + 1)
        while heap:
            rank, left, merged, right = heapq.heappop(heap)
            if ids[left] is None or ids[right] is None or behind[left] != right:
                continue
            if pairs.get((ids[left], ids[right])) != (rank, merged):
                continue  # one of both has grown since
            ids[left], ids[right] = merged, None
            behind[left] = following = behind[right]
            if following < end:
                before[following] = left
                note(left, following)
            if before[left] >= 0:
                note(before[left], left)
        return [index for index in ids if index is not None]

    def grow_in_order(self):
        """Returns whether each piece is merged into others after its own merges only.

        Then all places of a pair of the lowest rank can be merged at once: none of
        them makes a pair of a lower rank.
        """
        last_made = {}
        for rank, merged in self.pairs.values():
            last_made[merged] = max(rank, last_made.get(merged, -1))
        return all(
            max(last_made.get(left, -1), last_made.get(right, -1)) < rank
            for (left, right), (rank, _) in self.pairs.items()
        )
