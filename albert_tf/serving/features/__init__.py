"""Strings to the features of models, inside a graph."""
