"""Similarity of texts: vectors that are close where texts mean the same."""
