"""Tagging: where in a text the names of persons, places and the like stand."""
