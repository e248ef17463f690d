"""Sentences of a paragraph, in English and Chinese punctuation."""

import re

_CLOSING = "\"'”’)\\]»"
_CHINESE_CLOSING = "”’」』）》\"'"
_END = re.compile(
    rf"[.!?]+[{_CLOSING}]*\s+(?=[\"'“‘(\[«]*[A-Z0-9À-ÖØ-Þ])"
    rf"|(?:[。！？；]|……)+[{_CHINESE_CLOSING}]*\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“])"
    r"(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Sgt|Capt|Rev|Hon|No|Vol|vs|"
    r"Inc|Ltd|Co|Corp|Fig|al|etc|cf|e\.g|i\.e|ca|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|"
    r"Sep|Sept|Oct|Nov|Dec|(?:[A-Z]\.)+[A-Z])\.\s+$"
)


def split_sentences(paragraph):
    """Returns the sentences of `paragraph`, a list of str without outer spaces.

    A full stop ends a sentence before white space and a capital or digit, unless an
    abbreviation or an initial precedes it; Chinese punctuation ends one anywhere.
    """
    sentences = []
    start = 0
    for match in _END.finditer(paragraph):
        candidate = paragraph[start : match.end()]
        if _ABBREVIATION.search(candidate[-16:]):
            continue
        sentences.append(candidate.strip())
        start = match.end()
    rest = paragraph[start:].strip()
    return [*sentences, rest] if rest else sentences
