"""The official clean-up of raw text, optionally with each character's origin.

Source: `preprocess_text` and `BasicTokenizer` in tokenization.py of
google-research/albert.
"""

import functools
import re
import sys
import unicodedata

import numpy as np

# The official code's CJK blocks, around whose characters it puts spaces.
_CHINESE_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""The characters that Python strips from the ends of a text; U+3000 is the last."""

SPACES = "".join(c for c in WHITE_SPACE if c not in "\x1c\x1d\x1e\x1f")
"""White space by Unicode's property, which U+001C to U+001F do not have."""


@functools.cache
def character_class(is_member):
    """Returns a regular-expression class of the characters that are members.

    It tests every Unicode character, which takes a quarter of a second: call it when a
    class is used, not while a module is imported.

    The classes are spelt out because the property classes of regular-expression
    libraries (\\p{Mn}, \\s) differ from the sets in the official Python code.
    """
    ranges = []
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code <= 0xDFFF or not is_member(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    escaped = (f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges)
    return f"[{''.join(escaped)}]"


@functools.cache
def runs_of(is_member):
    """Returns a compiled expression for one or more characters that are members."""
    return re.compile(character_class(is_member) + "+")


_HALF_PAIRS = re.compile("[\ud800-\udfff]")


def repaired(text):
    """Replaces lone surrogates, which UTF-8 cannot encode, by U+FFFD.

    Every tokenizer does this to texts, as do callers of in-graph tokenizers.
    """
    return text if text.isascii() else _HALF_PAIRS.sub("\ufffd", text)


def is_removed(character):
    """Returns True for control characters, which the official clean-up drops."""
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def is_removed_or_private(character):
    """Returns True for what Hugging Face's tokenizers drop, also private characters."""
    return is_removed(character) or unicodedata.category(character) == "Co"


def is_punctuation(character):
    """Returns True for P* and every visible ASCII character but letters and digits."""
    if "!" <= character <= "~":
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")


def is_chinese(character):
    """Returns True in the eight CJK blocks whose characters are words of their own."""
    code = ord(character)
    return any(first <= code <= last for first, last in _CHINESE_BLOCKS)


def is_accent(character):
    """Returns True for marks that the official clean-up drops from lowered words."""
    return unicodedata.category(character) == "Mn"


def is_moved_accent(character):
    """Returns True for accents that decomposition would sort.

    The time for sorting grows with the square of their number (80,000: 4 s). They are
    all dropped afterwards, so dropping them first changes nothing.
    """
    return is_accent(character) and any(
        map(unicodedata.combining, unicodedata.normalize("NFD", character))
    )


def is_mark(character):
    """Returns True for characters that NFKD turns into combining characters only."""
    decomposed = unicodedata.normalize("NFKD", character)
    return all(map(unicodedata.combining, decomposed))


def is_mark_in_tokenizers(character):
    """Returns True for Hugging Face's marks, which include combining class 0."""
    decomposed = unicodedata.normalize("NFKD", character)
    return all(unicodedata.category(part)[0] == "M" for part in decomposed)


def is_accented(character):
    """Returns True where `sentencepiece_text` takes a combining character away."""
    decomposed = unicodedata.normalize("NFKD", character)
    return any(map(unicodedata.combining, decomposed))


def count_accented(text):
    """Counts the characters of a text that `is_accented`."""
    return count_members(text, is_accented)


def is_accented_in_words(character):
    """Returns True where the WordPiece clean-up takes an accent away."""
    return any(map(is_accent, unicodedata.normalize("NFD", character)))


CAPITAL_SIGMA, SIGMA = "\u03a3", "\u03c3"


def lowered(text, one_by_one):
    """Lowers letters; `one_by_one` does not treat a final sigma specially."""
    return (text.replace(CAPITAL_SIGMA, SIGMA) if one_by_one else text).lower()


def count_members(text, is_member):
    """Counts the members in a text; ASCII has none."""
    return 0 if text.isascii() else sum(map(len, runs_of(is_member).findall(text)))


CHINESE = "".join(f"{chr(first)}-{chr(last)}" for first, last in _CHINESE_BLOCKS)
CHINESE = f"[{CHINESE}]"
"""The class of the characters for which `is_chinese` is true."""
# No combining character is below U+0300; matching one range is several times faster
# than matching the class of all combining characters.
_PERHAPS_COMBINING = re.compile("[\u0300-\U0010ffff]+")


def _strip_marks(text, is_mark):
    return _PERHAPS_COMBINING.sub(
        lambda run: runs_of(is_mark).sub("", run.group()), text
    )


def _decompose(text, is_mark):
    """Applies NFKD, and drops combining characters before and after it.

    NFKD sorts each run of them, in time quadratic in its length.
    """
    text = _strip_marks(text, is_mark)
    if unicodedata.is_normalized("NFKD", text):
        return text
    return _strip_marks(unicodedata.normalize("NFKD", text), is_mark)


@functools.cache
def joining_characters():
    """Marks characters that NFC may join with one before, bool `[0x110000]`."""
    found = np.zeros(sys.maxunicode + 1, np.bool_)
    found[0x1161:0x1176] = found[0x11A8:0x11C3] = True  # of Hangul syllables
    for code in range(sys.maxunicode + 1):
        found[code] |= unicodedata.combining(chr(code)) != 0
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and parts[0][0] != "<":
            found[int(parts[1], 16)] = True
    return found


def composed_with_spans(text):
    """Composes the characters of a text (NFC), with each one's origin.

    Returns:
        The composed text and, for each of its characters, the (start, end) in `text` of
        the characters it may stem from.
    """
    characters, spans = [], []
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    starts = [0, *(np.flatnonzero(~joining_characters()[codes[1:]]) + 1)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = unicodedata.normalize("NFC", text[start:end])
        characters.append(part)
        if len(part) == end - start:
            spans += zip(range(start, end), range(start + 1, end + 1), strict=True)
        else:
            spans += [(int(start), int(end))] * len(part)
    return "".join(characters), spans


PAIRED_QUOTES = "``|''"
"""Character pairs that official XLNet reads as one quotation mark."""


def join_quotes(text):
    """Replaces each of `PAIRED_QUOTES` by one quotation mark."""
    return re.sub(PAIRED_QUOTES, '"', text)


def joined_places(text):
    """Finds where characters of `join_quotes(text)` begin in `text`, and its end."""
    places, after = [], 0
    for pair in re.finditer(PAIRED_QUOTES, text):
        places += range(after, pair.start() + 1)
        after = pair.end()
    return [*places, *range(after, len(text) + 1)]


def _has_surplus_spaces(text):
    return "  " in text or text.startswith(" ") or text.endswith(" ")


def marks_of(as_tokenizers):
    """Returns the predicate of characters to drop before SentencePiece."""
    return is_mark_in_tokenizers if as_tokenizers else is_mark


def sentencepiece_text(text, do_lower_case, keep_accents=False, as_tokenizers=False):
    """Prepares `text` for SentencePiece like official ALBERT.

    It applies `repaired` and collapses white space; unless accents are kept, it
    decomposes the text (NFKD) and drops combining characters; and it lowers letters on
    request.

    Args:
        text: str.
        do_lower_case, keep_accents: whether to lower letters, and to keep accents.
        as_tokenizers: whether to follow Hugging Face's tokenizers; see `TextRules`.
    """
    # Cheaper than splitting: damage, and white space other than U+0020, are not
    # printable.
    if _has_surplus_spaces(text) or not text.isprintable():
        text = " ".join(repaired(text).split())
    if not (keep_accents or text.isascii()):
        text = _decompose(text, marks_of(as_tokenizers))
    return lowered(text, as_tokenizers) if do_lower_case else text


def sentencepiece_text_with_spans(
    text, do_lower_case, keep_accents=False, as_tokenizers=False
):
    """Prepares a text like `sentencepiece_text`, with each character's origin.

    Returns:
        The prepared text and, for each of its characters, the (start, end) in
        `text` of the character it stems from, combining marks after it included.
    """
    text = repaired(text)
    is_clean = text.isprintable() and not _has_surplus_spaces(text)
    if text.isascii() and is_clean:
        # Every character stays itself, as in most English text.
        spans = list(zip(range(len(text)), range(1, len(text) + 1), strict=True))
        return text.lower() if do_lower_case else text, spans
    drops = marks_of(as_tokenizers)
    characters = []
    spans = []
    after_space = is_after_text = False
    for index, original in enumerate(text):
        if original.isspace():
            after_space = True
            continue
        if after_space and is_after_text:
            characters.append(" ")
            spans.append((index - 1, index))
        stays = keep_accents or original.isascii()
        kept = original if stays else _decompose(original, drops)
        if not kept and spans and not after_space:
            spans[-1] = (spans[-1][0], index + 1)
        characters.extend(kept)
        spans.extend([(index, index + 1)] * len(kept))
        after_space, is_after_text = False, True
    prepared = "".join(characters)
    if not do_lower_case:
        return prepared, spans
    if "\u0130" in prepared:  # the one letter whose lower case is two characters
        pairs = zip(prepared, spans, strict=True)
        spans = [span for letter, span in pairs for _ in letter.lower()]
    return lowered(prepared, as_tokenizers), spans
