"""Measurements: each script prints what it measured on the machine at hand."""
