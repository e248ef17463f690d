"""Models as graphs that take strings: exported, called from Python, and served."""
