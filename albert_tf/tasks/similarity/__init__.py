"""Semantic similarity: embeds texts so that similar meanings have close vectors."""

LOSSES = ("info_nce", "cosent", "cosine", "simcse")
"""Names of the losses; SimCSE is InfoNCE of a text with itself."""
TEACHER_DISTANCES = ("cosine", "squared")
OF_PAIRS = "info_nce"
OF_TEXTS = "simcse"
WAYS = ("vectors", "words", "both")
"""Ways to search texts: by vectors, words (BM25), or both, whose ranks are fused."""
