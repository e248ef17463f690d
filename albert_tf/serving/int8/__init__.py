"""Models whose projections multiply int8."""
