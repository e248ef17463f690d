"""Ranking: scores texts by how well they answer a query."""

LOSSES = ("lambda", "binary", "margin")
"""Names of the losses: of the order at the top, of each text alone, of pairs."""
