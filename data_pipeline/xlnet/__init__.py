"""Streams of text for XLNet: their records, and the permutations of its predictions."""
