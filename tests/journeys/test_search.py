"""Whoever has texts finds the nearest one."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow

_TEXTS = [
    "The army fought a long war against the empire.",
    "The song was released as a single and won an award.",
    "Plants and animals live in the forest.",
    "The university has a department of physics.",
]
_SEARCH = """
texts = open("texts.txt").read().splitlines()
for query in ("the album sold a million copies", "the war and its battles"):
    print(embedder.search(query, texts, k=1)[0]["index"])
"""


def test_the_nearest_text(newcomer):
    (newcomer.folder / "texts.txt").write_text("\n".join(_TEXTS) + "\n")
    code = newcomer.block("docs/vectors.md", "Apply", "python")
    assert newcomer.runs(code + _SEARCH).split()[-2:] == ["1", "0"]
    newcomer.types(newcomer.block("docs/vectors.md", "Apply"))
    vectors = np.load(newcomer.folder / "vectors.npy")
    assert vectors.shape[0] == len(_TEXTS) and vectors.dtype == np.float32
