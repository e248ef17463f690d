"""Comparison of the project with recordings of the reference codes."""
