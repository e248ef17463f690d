"""Families of models: their configurations, and the names of their variables."""
