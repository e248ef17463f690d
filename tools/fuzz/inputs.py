"""Inputs of properties: JSON, documents and files that are nearly right, texts."""

import copy
import json
import sys
import unicodedata

from hypothesis import strategies as st

# Numbers at which something begins or ends.
_NUMBERS = st.sampled_from(
    [-(2**63), -1, 0, 1, 2, 512, 2**31 - 1, 2**31, 2**32 + 5, 2**63, 10**400]
)
_SCALARS = (
    st.none()
    | st.booleans()
    | _NUMBERS
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["", "/", "..", "true", "0", "\0", "\ud800"])
)
JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
"""Any value of JSON, the numbers that Python's dialect adds included."""


@st.composite
def changed(draw, document):
    """Draws a JSON document in which values were replaced, removed or added."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        containers = list(_containers(document))
        container = draw(st.sampled_from(containers))
        if isinstance(container, dict):
            key = draw(st.sampled_from([*container, "unknown"]))
        else:
            key = draw(st.integers(0, len(container)))
            container.extend([None] * (key + 1 - len(container)))
        if draw(st.integers(0, 3)):
            container[key] = draw(JSON)
        else:
            container.pop(key, None) if isinstance(container, dict) else container.pop()
    return document


def _containers(value):
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


@st.composite
def damaged(draw, data):
    """Draws bytes with some replaced, removed, inserted, or cut off at the end."""
    data = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.sampled_from([0, 1, 1, 4, len(data)]))
        data[start:end] = draw(st.binary(max_size=4))
    return bytes(data)


def json_files(document):
    """Draws bytes of a file that holds `document`, nearly, or something else."""
    text = json.dumps(document).encode()
    other = JSON.map(json.dumps).map(str.encode) | st.binary(max_size=20)
    return changed(document).map(json.dumps).map(str.encode) | damaged(text) | other


def _is_known(character):
    """Returns whether all libraries have the character in their tables."""
    return unicodedata.category(character) not in ("Cn", "Co", "Cs")


CHARACTERS = st.sampled_from(
    [c for c in map(chr, range(1, sys.maxunicode + 1)) if _is_known(c)]
)
"""Every assigned character but U+0000."""

_TRICKY = st.sampled_from(
    [*"aeEΣσİé½ﬁ日本 ,20\t\r\n\v\x85\u2028\u0301\u200b\u3000\ufeff▁"]
    + ["e\u0301", "2000,", "  ", "[SEP]", "[MASK]", "<pad>", "##e", "e" * 199]
)
# Form feeds, soft hyphens, joiners, private characters and ligatures, as in PDFs.
_OF_PDFS = st.sampled_from([*"\1\f\x1c\xad\u200c\u200d\u2060\ue000\uf0b7\ufb03\ufffd"])
_PARTS = _TRICKY | _TRICKY | _OF_PDFS | CHARACTERS
TEXTS = st.lists(_PARTS, max_size=9).map("".join)
"""Texts full of characters that tokenizers treat specially."""
TEXTS_WITH_NUL = st.lists(_PARTS | st.just("\0"), max_size=9).map("".join)
"""Such texts with U+0000, which tables refuse."""
