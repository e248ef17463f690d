"""Tagging: finds named entities such as persons and places in texts."""
