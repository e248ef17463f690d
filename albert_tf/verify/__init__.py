"""Holds the project against recordings of the reference codes."""
