"""Serving: models as graphs that take strings, exported, called and served."""
