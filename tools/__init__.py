"""Tools for work on the project itself, which are not installed."""
