"""Similarity of texts: vectors that are close where texts mean the same."""

LOSSES = ("info_nce", "cosent", "cosine", "simcse")
"""Losses of `objective`, by name; SimCSE is InfoNCE of a text with itself."""
TEACHER_DISTANCES = ("cosine", "squared")
OF_PAIRS = "info_nce"
OF_TEXTS = "simcse"
